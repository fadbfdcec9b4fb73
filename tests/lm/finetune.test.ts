// `hookline finetune` in a process of its own: a run whose checkpoints are small, killed in the middle of a packed epoch.
import { spawn } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { architectureOf, languageModel, saveModel } from "hookline/lm";
import { tempDir } from "../support/temp-dir.ts";
import { compiled } from "../support/programs.ts";

const CHILD = new URL("finetune-child.ts", import.meta.url);
const TOKENIZER = new URL("../../examples/lm/tokenizer/", import.meta.url).pathname;

/** A folder with a model and conversations. */
async function project(): Promise<string> {
  const dir = tempDir();
  const config = {
    model_type: "llama",
    vocab_size: 2048,
    hidden_size: 32,
    intermediate_size: 48,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    max_position_embeddings: 64,
    tie_word_embeddings: true,
    eos_token_id: 0,
    bos_token_id: 0,
  };
  await saveModel(languageModel(architectureOf(config)), join(dir, "base"));
  for (const name of ["tokenizer.json", "tokenizer_config.json"]) cpSync(TOKENIZER + name, join(dir, "base", name));
  const lines = Array.from({ length: 90 }, (_, i) =>
    JSON.stringify({
      messages: [
        { role: "user", content: `What is film ${i} about?` },
        { role: "assistant", content: "A man and a woman. ".repeat(1 + (i % 5)) },
      ],
    }),
  );
  writeFileSync(join(dir, "chats.jsonl"), lines.join("\n"));
  return dir;
}

function start(cwd: string, ...args: readonly string[]) {
  const child = spawn(process.execPath, [compiled(CHILD), ...args], { cwd });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  const ended = new Promise<{ code: number | null; output: string }>((resolve) =>
    child.on("close", (code) => resolve({ code, output })),
  );
  return { child, ended };
}

const FINETUNE = ["finetune", "base", "--data", "chats.jsonl", "--lora", "4", "--length", "64", "--batch-size", "2"];
const SETTINGS = ["--val", "0", "--epochs", "6", "--set", 'hooks.modelCheckpoint.every="3 steps"'];

const lastCheckpoint = (run: string): string =>
  join(run, "checkpoints", readdirSync(join(run, "checkpoints")).sort().at(-1)!);

test("killed in the middle of a packed epoch and resumed, a run ends with the bits of one that was not killed", async () => {
  const dir = await project();
  const whole = await start(dir, ...FINETUNE, ...SETTINGS, "--out", "runs/whole").ended;
  expect(whole.code, whole.output).toBe(0);
  expect(whole.output).toMatch(/90 conversations, [\d,]+ tokens, [\d,]+ count/);
  expect(whole.output).toMatch(/Training 2 × 64 tokens layer by layer takes about/);

  const killed = start(dir, ...FINETUNE, ...SETTINGS, "--out", "runs/killed");
  while (!existsSync(join(dir, "runs/killed/checkpoints/step-000003/manifest.json"))) await sleep(5);
  killed.child.kill("SIGKILL");
  expect((await killed.ended).code).toBe(null);
  const resumed = await start(dir, "resume", "runs/killed").ended;
  expect(resumed.code, resumed.output).toBe(0);

  const [one, other] = [join(dir, "runs/whole"), join(dir, "runs/killed")].map(lastCheckpoint) as [string, string];
  for (const file of ["model.safetensors", "optimizer.safetensors"])
    expect(readFileSync(join(other, file)).equals(readFileSync(join(one, file))), file).toBe(true);
  const size = (path: string): number =>
    readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0);
  expect(size(one)).toBeLessThan(3 * statSync(join(one, "model.safetensors")).size + 2 ** 16);
});

test("a dry run counts the steps of the run, which says how to talk to it; chat answers what comes from a pipe", async () => {
  const dir = await project();
  const settings = ["--epochs", "2", "--val", "0.1"];
  const tried = await start(dir, ...FINETUNE, ...settings, "--dry-run").ended;
  expect(tried.output).toMatch(/What is film \d+ about\?[^«]*«A man and a woman\./);
  const counted = /for (\d+) steps\./.exec(tried.output)![1]!;
  expect(existsSync(join(dir, "runs"))).toBe(false);

  const trained = await start(dir, ...FINETUNE, ...settings, "--out", "runs/a").ended;
  expect(trained.output).toContain(`completed after ${counted} steps`);
  expect(trained.output).toContain("Talk to it: npx hookline chat runs/a\n");

  const talk = start(dir, "chat", "runs/a", "--max-tokens", "3");
  talk.child.stdin.end("/system Be brief.\nWhat is film 3 about?\n");
  const { code, output } = await talk.ended;
  expect(code, output).toBe(0);
  expect(output).toMatch(
    /^Talking to runs\/a\/checkpoints\/[^]*A new conversation, with the system's message “Be brief.”\.\n/,
  );
  expect(output).not.toMatch(/^> /m);
});

test("lm eval answers questions and reads texts; export names the command for language models", async () => {
  const dir = await project();
  const question = { prompt: "The film takes 90", choices: ["minutes", "elephants"], answer: 0 };
  writeFileSync(join(dir, "questions.jsonl"), `\n${JSON.stringify(question)}\n`);
  const evaluate = (file: string) => start(dir, "lm", "eval", "base", file, "--json").ended;
  const [asked, read, exported] = await Promise.all([
    evaluate("questions.jsonl"),
    evaluate("chats.jsonl"),
    start(dir, "export", "base", "out").ended,
  ]);
  const scores = (JSON.parse(asked.output) as { results: Record<string, number> }).results;
  expect(Object.keys(scores)).toEqual(["questions", "accuracy", "accuracyByCharacters", "accuracyByBytes"]);
  expect(scores["questions"]).toBe(1);
  expect([0, 1]).toContain(scores["accuracy"]);
  // With random weights, all of the 2,048 tokens are about as likely. Rows are as long as the context, 64 tokens.
  const texts = (JSON.parse(read.output) as { results: Record<string, number> }).results;
  expect(texts["text/perplexity"]).toBeGreaterThan(1500);
  expect(texts["text/perplexity"]).toBeLessThan(2800);
  expect(exported.code).toBe(2);
  expect(exported.output).toMatch(/base is a language model, which `.*merge base out` saves for transformers/);
});
