// Language models in a real browser: from an address with progress, from the page's own storage (OPFS) and from chosen files,
// with their tokenizer. What a page computes is what Node does.
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { architectureOf, type DownloadProgress, languageModel, loadModel, saveModel } from "hookline/lm";
import { bundle } from "../support/bundle.ts";
import { NEVER_MS } from "../support/chromium.ts";
import { look, type Loaded, tune, type Tuned } from "./language-model-page.ts";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const present = existsSync(executablePath);
if (!present) console.warn("Language models in a browser are skipped: apt-get install chromium (or set CHROMIUM)");

const TOKENIZER = new URL("../../examples/lm/tokenizer/", import.meta.url).pathname;

/** The folder of a small random model, and a file of conversations. */
async function files(dir: string): Promise<{ readonly folder: string; readonly data: string }> {
  const config = {
    model_type: "llama",
    vocab_size: 2048,
    hidden_size: 32,
    intermediate_size: 64,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    max_position_embeddings: 128,
    tie_word_embeddings: true,
    initializer_range: 0.3,
    eos_token_id: 0,
  };
  const folder = join(dir, "small");
  await saveModel(languageModel(architectureOf(config)), folder);
  for (const name of ["tokenizer.json", "tokenizer_config.json"]) copyFileSync(TOKENIZER + name, join(folder, name));
  const lines = Array.from({ length: 12 }, (_, i) =>
    JSON.stringify({
      messages: [
        { role: "user", content: `When did film ${i} come out?` },
        { role: "assistant", content: `It came out in ${1980 + i}.` },
      ],
    }),
  );
  const data = join(dir, "chats.jsonl");
  writeFileSync(data, lines.join("\n"));
  return { folder, data };
}

describe.runIf(present)("a language model in Chromium", () => {
  let server: Server;
  let browser: Browser;
  let page: Page;
  let dir: string;
  let folder: string;
  let data: string;
  let here: Loaded;

  const open = async (): Promise<Page> => {
    const opened = await browser.newPage();
    opened.setDefaultTimeout(NEVER_MS);
    await opened.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return opened;
  };
  const ask = <T>(name: string, on = page): Promise<T> =>
    on.evaluate((each) => (globalThis as unknown as { lm: Record<string, () => T> }).lm[each]!(), name);

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "hookline-"));
    ({ folder, data } = await files(dir));
    const { code } = await bundle({ file: "tests/browser/language-model-page.ts" }, { jax: true });
    const body = `<!doctype html><input type="file" id="model" multiple><input type="file" id="data"><script type="module" src="/page.js"></script>`;
    let resume = (): void => {};
    const asked = new Promise<void>((resolve) => (resume = resolve));
    server = createServer(({ url = "", method }, response) => {
      if (url === "/") return response.setHeader("content-type", "text/html").end(body);
      if (url === "/page.js") return response.setHeader("content-type", "text/javascript").end(code);
      if (url === "/continue") {
        resume();
        return response.end();
      }
      const [, place, name = ""] = /^\/(models|slow)\/small\/(.*)$/.exec(url) ?? [];
      if (!readdirSync(folder).includes(name)) return response.writeHead(404).end();
      const bytes = readFileSync(join(folder, name));
      response.setHeader("content-length", bytes.length);
      if (method === "HEAD") return response.end();
      if (place !== "slow" || name !== "model.safetensors") return response.end(bytes);
      response.write(bytes.subarray(0, bytes.length / 2));
      return asked.then(() => response.end(bytes.subarray(bytes.length / 2)));
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--no-first-run"], timeout: NEVER_MS });
    page = await open();
    await page.setInputFiles(
      "#model",
      readdirSync(folder).map((name) => join(folder, name)),
    );
    await page.setInputFiles("#data", data);
    await ask("provide");
    const model = await loadModel(folder);
    here = await look(model);
    await model.tokenizer.close();
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  test.each([
    ["address", () => `${new URL(page.url()).origin}/models/small`],
    ["url", () => `${new URL(page.url()).origin}/models/small`],
    ["opfs", () => "small"],
    ["chosen", () => "the chosen files"],
  ])("is loaded from %s, and reads and writes what it does in Node", async (how, from) => {
    expect(here.decoded).toContain("“Heat” came out in 1995");
    expect(await ask<Loaded>(how)).toEqual({ ...here, from: from() });
  });

  test("is loaded with a template from a folder in its folder", async () => {
    expect(await ask("tools")).toBe("calendar");
  });

  test("reports how much of each file has been downloaded", async () => {
    const seen = await ask<DownloadProgress[]>("progress");
    const last = new Map(seen.map((progress) => [progress.file, progress]));
    const expected = ["config.json", "model.safetensors", "tokenizer.json"];
    for (const file of expected) {
      const { size } = statSync(join(folder, file));
      expect(last.get(file)).toEqual({ file, loaded: size, total: size });
    }
    expect(seen.filter(({ file }) => file === "model.safetensors").length).toBeGreaterThan(1);
  });

  test("is tuned with an adapter on its own files, as in Node", async () => {
    const tuned = await ask<Tuned>("tuned");
    const expected = await tune(folder, data);
    expect(tuned.device).toBe("wasm");
    expect(tuned.losses).toHaveLength(3);
    for (const [i, loss] of tuned.losses.entries()) expect(loss).toBeCloseTo(expected.losses[i]!, 4);
    expect(tuned.answer).toBe(expected.answer);
  });

  test("says what is missing", async () => {
    await expect(ask("absent")).rejects.toThrow("models/absent: it has no config.json");
    await expect(ask("incomplete")).rejects.toThrow("model.safetensors");
    await expect(ask("address", await open())).rejects.toThrow(
      'In a bundled page: providePackages({ "@huggingface/tokenizers": () => import("@huggingface/tokenizers")',
    );
  });
});
