// Tables in a real browser: from a chosen file, an address, a Response, a stream and a text.
import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { chromium, type Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundle } from "../support/bundle.ts";
import { NEVER_MS } from "../support/chromium.ts";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const present = existsSync(executablePath);
if (!present) console.warn("Tables in a browser are skipped: apt-get install chromium (or set CHROMIUM to its path)");

const TEXT = "age,plan\n31,basic\n,pro\n";
const ROWS = [
  { age: 31, plan: "basic" },
  { age: null, plan: "pro" },
];

const PAGE = `
import { readChunks, readTable } from "hookline/data";
const text = ${JSON.stringify(TEXT)};
const rowsOf = (table) => Array.from({ length: table.rowCount }, (_, i) => table.row(i));
async function chunks(file) {
  const rows = [];
  for await (const table of readChunks(file, { chunkRows: 1 })) rows.push(...rowsOf(table));
  return rows;
}
const chosen = () => document.querySelector("input").files[0];
Object.assign(globalThis, {
  read: {
    chosen: async () => rowsOf(await readTable(chosen())),
    streamed: () => chunks(chosen()),
    address: async () => rowsOf(await readTable("/customers.csv")),
    packed: async () => rowsOf(await readTable("/customers.csv.gz")),
    response: async () => rowsOf(await readTable(await fetch("/customers.csv"))),
    stream: () => chunks(new Blob([text]).stream()),
    text: async () => rowsOf(await readTable({ text })),
    absent: () => readTable("/absent.csv"),
    parquet: () => readTable(new File([text], "a.parquet")),
  },
});
`;

describe.runIf(present)("in Chromium", () => {
  let server: Server;
  let browser: Browser;
  let read: (how: string) => Promise<unknown>;

  beforeAll(async () => {
    const { code } = await bundle({ source: PAGE }, { jax: false });
    const answers: Readonly<Record<string, readonly [string, string | Uint8Array]>> = {
      "/": ["text/html", `<!doctype html><input type="file"><script type="module" src="/page.js"></script>`],
      "/page.js": ["text/javascript", code],
      "/customers.csv": ["text/csv", TEXT],
      "/customers.csv.gz": ["application/gzip", gzipSync(TEXT)],
    };
    server = createServer(({ url }, response) => {
      const [type, body] = answers[url!] ?? ["text/plain", ""];
      response.writeHead(Object.hasOwn(answers, url!) ? 200 : 404, { "content-type": type }).end(body);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--no-first-run"], timeout: NEVER_MS });
    const page = await browser.newPage();
    page.setDefaultTimeout(NEVER_MS);
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.setInputFiles("input", { name: "mine.csv", mimeType: "text/csv", buffer: Buffer.from(TEXT) });
    read = (how) =>
      page.evaluate((name) => (globalThis as unknown as { read: Record<string, () => unknown> }).read[name]!(), how);
  });
  afterAll(async () => {
    await browser.close();
    server.close();
  });

  test.each(["chosen", "streamed", "address", "packed", "response", "stream", "text"])("%s", async (how) => {
    expect(await read(how)).toEqual(ROWS);
  });

  test("errors name the file", async () => {
    await expect(read("absent")).rejects.toThrow("/absent.csv cannot be fetched: the server answered 404");
    await expect(read("parquet")).rejects.toThrow("readTable of Parquet needs the package hyparquet");
  });
});
