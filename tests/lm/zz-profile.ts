import { architectureOf, generate, generator, languageModel } from "hookline/lm";
import { NativeEngine } from "hookline/native";
const arch = architectureOf({
  model_type: "llama",
  vocab_size: 49152,
  hidden_size: 576,
  intermediate_size: 1536,
  num_hidden_layers: 30,
  num_attention_heads: 9,
  num_key_value_heads: 3,
  max_position_embeddings: 8192,
  rms_norm_eps: 1e-5,
  rope_theta: 100000,
  tie_word_embeddings: true,
  hidden_act: "silu",
  bos_token_id: 1,
  eos_token_id: 2,
} as never);
const model0 = languageModel(arch);
const model = Object.create(model0, { generation: { value: { eosTokenIds: [] } } });
const engine = new NativeEngine();
await using writer = generator(model, { engine: engine as never });
const prompt = Array.from({ length: 32 }, (_, i) => i + 3);
let t = performance.now();
await generate(writer, prompt, { maxTokens: 3 }).ids();
console.log("start + 3 tokens", performance.now() - t, "compile s", engine.compileSeconds);
(engine as any).profile.isOn = true;
const N = 40;
let c = process.cpuUsage();
t = performance.now();
await generate(writer, prompt, { maxTokens: N, temperature: +(process.env.T ?? 0) }).ids();
c = process.cpuUsage(c);
console.log("ms/token", (performance.now() - t) / N, "cpu ms/token", (c.user + c.system) / 1000 / N);
for (const s of (engine as any).profile.steps.slice(0, 14))
  console.log(s.total.toFixed(0).padStart(7), s.calls, s.least.toFixed(3), s.label.slice(0, 150));
const total = (engine as any).profile.steps.reduce((a: number, s: any) => a + s.total, 0);
console.log("profiled total", total.toFixed(0));
await (engine as any).close();
