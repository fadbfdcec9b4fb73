// The language models of gpu-lora.ts as folders of random weights in bfloat16. gpu-lora-peers.py makes the same shapes.
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";

/** In the words of config.json. */
interface LlamaConfig {
  readonly vocab_size: number;
  readonly hidden_size: number;
  readonly intermediate_size: number;
  readonly num_hidden_layers: number;
  readonly num_attention_heads: number;
  readonly num_key_value_heads: number;
  readonly rope_theta: number;
}

export interface LoraModel {
  readonly title: string;
  readonly config: LlamaConfig;
  readonly rows: number;
  /** Tokens of a row. */
  readonly length: number;
}

export const LORA_MODELS = {
  "1b": {
    title: "Llama-3.2-1B",
    config: {
      vocab_size: 128_256,
      hidden_size: 2048,
      intermediate_size: 8192,
      num_hidden_layers: 16,
      num_attention_heads: 32,
      num_key_value_heads: 8,
      rope_theta: 500_000,
    },
    rows: 16,
    length: 512,
  },
  "135m": {
    title: "SmolLM2-135M",
    config: {
      vocab_size: 49_152,
      hidden_size: 576,
      intermediate_size: 1536,
      num_hidden_layers: 30,
      num_attention_heads: 9,
      num_key_value_heads: 3,
      rope_theta: 100_000,
    },
    rows: 16,
    length: 512,
  },
  /** To try the benchmark on a CPU; only if it is asked for. */
  tiny: {
    title: "a tiny shape",
    config: {
      vocab_size: 512,
      hidden_size: 64,
      intermediate_size: 96,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      rope_theta: 10_000,
    },
    rows: 2,
    length: 64,
  },
} as const satisfies Record<string, LoraModel>;

export type LoraModelName = keyof typeof LORA_MODELS;

/** What both sides know of a model, as JSON. */
export const configOf = ({ config }: LoraModel) => ({
  ...config,
  model_type: "llama",
  max_position_embeddings: 8192,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
});

/** So many random numbers are drawn, and repeated: a prime number, so that no two rows of a matrix are the same. */
const DRAWN = 4_194_319;
const STD = 0.02;

/** Writes config.json and model.safetensors into the folder. */
export function writeLoraModel(folder: string, model: LoraModel): void {
  const config = configOf(model);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  const shapes = shapesOf(model.config);
  let end = 0;
  const header: Record<string, object> = {};
  for (const [name, shape] of shapes) {
    const begin = end;
    end += 2 * shape.reduce((a, b) => a * b);
    header[name] = { dtype: "BF16", shape, data_offsets: [begin, end] };
  }
  const text = Buffer.from(JSON.stringify(header));
  const padded = Buffer.concat([text, Buffer.alloc((8 - (text.length % 8)) % 8, " ")]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  const numbers = new Uint8Array(randomNumbers().buffer);
  const file = openSync(join(folder, "model.safetensors"), "w");
  try {
    for (const part of [length, padded]) writeSync(file, part);
    let at = 0;
    for (const [, shape] of shapes) {
      const bytes = 2 * shape.reduce((a, b) => a * b);
      // A norm begins with ones.
      if (shape.length === 1) writeSync(file, new Uint8Array(new Uint16Array(bytes / 2).fill(0x3f80).buffer));
      else at = writeRepeated(file, numbers, at, bytes);
    }
  } finally {
    closeSync(file);
  }
}

/** Writes `bytes` bytes of `numbers`, from `at` on and from the front again; returns where it stopped. */
function writeRepeated(file: number, numbers: Uint8Array, at: number, bytes: number): number {
  let [from, left] = [at, bytes];
  while (left > 0) {
    const written = writeSync(file, numbers, from, Math.min(left, numbers.length - from));
    left -= written;
    from = (from + written) % numbers.length;
  }
  return from;
}

/** Normal numbers as bfloat16: the upper half of a float32's bits. */
function randomNumbers(): Uint16Array {
  const floats = Float32Array.from({ length: DRAWN }, () => {
    const radius = STD * Math.sqrt(-2 * Math.log(1 - Math.random()));
    return radius * Math.cos(2 * Math.PI * Math.random());
  });
  const bits = new Uint32Array(floats.buffer);
  return Uint16Array.from(bits, (word) => word >>> 16);
}

function shapesOf(config: LlamaConfig): [name: string, shape: readonly number[]][] {
  const { vocab_size, num_hidden_layers: layers, num_attention_heads: heads } = config;
  const { hidden_size: width, intermediate_size: inner } = config;
  const keys = (width / heads) * config.num_key_value_heads;
  const ofLayer: readonly (readonly [string, ...number[]])[] = [
    ["self_attn.q_proj", width, width],
    ["self_attn.k_proj", keys, width],
    ["self_attn.v_proj", keys, width],
    ["self_attn.o_proj", width, width],
    ["mlp.gate_proj", inner, width],
    ["mlp.up_proj", inner, width],
    ["mlp.down_proj", width, inner],
    ["input_layernorm", width],
    ["post_attention_layernorm", width],
  ];
  const all = Array.from({ length: layers }, (_, i) =>
    ofLayer.map(([name, ...shape]): [string, number[]] => [`model.layers.${i}.${name}.weight`, shape]),
  );
  return [["model.embed_tokens.weight", [vocab_size, width]], ...all.flat(), ["model.norm.weight", [width]]];
}
