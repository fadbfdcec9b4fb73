// Fifty-five planted secrets, in runs that complete, are stopped and fail: none is in anything that the run writes or sends.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { redact } from "../../src/platform/redact.ts";
import { temporaryFolder, textOf } from "./queue-runs.ts";
import { plants } from "./secrets-plants.ts";
import { compiled } from "../support/programs.ts";

/** W&B's, MLflow's and a webhook's service in one, that writes down all it gets but what it must get: their own keys. */
async function services(): Promise<{ readonly url: string; readonly received: string[] }> {
  const received: string[] = [];
  const bucket = { project: { name: "p", entity: { name: "ann" } } };
  const answerTo = (path: string): object => {
    if (path.includes("graphql")) return { data: { upsertBucket: { bucket } } };
    if (path.includes("get-by-name")) return { experiment: { experiment_id: "0" } };
    return path.includes("runs/create") ? { run: { info: { run_id: "1" } } } : {};
  };
  async function note(request: IncomingMessage): Promise<void> {
    const { authorization: _, ...headers } = request.headers;
    const url = request.url!.startsWith("/notice/") ? "/notice" : request.url!;
    let text = `${request.method} ${url} ${JSON.stringify(headers)}\n`;
    for await (const piece of request) text += String(piece);
    received.push(text);
  }
  const server = createServer((request, response) => {
    void note(request).then(() => response.end(JSON.stringify(answerTo(request.url!))));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

const script = compiled(new URL("./secrets-child.ts", import.meta.url));

async function train(how: string, dir: string, url: string): Promise<string> {
  const { env, args } = plants();
  const child = spawn(process.execPath, [script, how, dir, url, ...args], {
    env: { ...process.env, ...env },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => (output += String(piece)));
  await once(child, "close");
  return output;
}

/** What is planted, in any writing that a secret may take on its way. */
function found(text: string): string[] {
  const hex = (core: string): string => Array.from(core, (c) => c.charCodeAt(0).toString(16)).join("");
  // Of base64 the letters at the ends depend on what stands beside it.
  const within = (core: string): string[] => ["", "a", "ab"].map((before) => btoa(before + core).slice(4, 16));
  const forms = (core: string): string[] => [core, core.toUpperCase(), hex(core), ...within(core)];
  const all = Object.entries(plants().cores);
  return all.filter(([, core]) => forms(core).some((form) => text.includes(form))).map(([what]) => what);
}

it("plants fifty-five", () => {
  const { cores, settings, words, env, args, service } = plants();
  expect(Object.keys(cores).length).toBe(55);
  expect(new Set(Object.values(cores)).size).toBe(Object.keys(cores).length);
  const all = JSON.stringify([settings, words, env, args, service]);
  expect(found(all)).toEqual(Object.keys(cores));
});

it.each([
  ["completes", "completed"],
  ["stops", "stopped"],
  ["fails", "error"],
])("a run that %s shows none of them", async (how, status) => {
  const runDir = join(temporaryFolder(), "run");
  const { url, received } = await services();
  const output = await train(how, runDir, url);
  expect(output).toContain(status);
  // All of it was written and sent: the search is not in vain.
  const files = readdirSync(runDir, { recursive: true }).map(String);
  for (const name of [
    "metrics.jsonl",
    "events.jsonl",
    "run.json",
    "metrics.csv",
    "manifest.json",
    ".wandb",
    "tfevents",
  ])
    expect(
      files.some((file) => file.includes(name)),
      name,
    ).toBe(true);
  expect(existsSync(join(runDir, ".queue"))).toBe(true);
  const sent = received.join("\n");
  for (const part of ["graphql", "file_stream", "log-batch", "/notice"]) expect(sent).toContain(part);
  expect(sent).toContain("ann");
  expect(textOf(runDir)).toContain("drift");
  expect({ output: found(output), files: found(textOf(runDir)), sent: found(sent) }).toEqual({
    output: [],
    files: [],
    sent: [],
  });
});

it("what is no secret stays", () => {
  for (const text of [
    "the tokenizer gpt2 has 50257 tokens, keys and values",
    "https://example.com/path?page=2&order=key",
    "step 12: loss=0.5, key_dim=64, author=ann",
    "skipped a batch, sk-learn 1.2, npm_config",
  ])
    expect(redact(text, [])).toBe(text);
});
