// `hookline lm fetch` against a server that answers as the hub does.
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { download, listFiles, type HubModel } from "../../src/cli/lm/hub.ts";
import { tempDir } from "../support/temp-dir.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const weights = Buffer.from("weights of a model ".repeat(1000));
const sha256 = createHash("sha256").update(weights).digest("hex");
const siblings = [
  { rfilename: "config.json", size: 2 },
  { rfilename: "model.safetensors", size: weights.length, lfs: { sha256, size: weights.length } },
  { rfilename: "../outside.json", size: 2 },
  { rfilename: "onnx/model.onnx", size: 5 },
];
let asked: string[] = [];
let served = weights;
/** Instead of a list of files. */
let list: string | undefined;
let model: HubModel;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { range, authorization = "" } = request.headers;
  asked.push(`${request.url} ${range ?? ""} ${authorization}`.trim());
  if (request.url === "/api/models/org/tiny/revision/main?blobs=true")
    return void response.end(list ?? JSON.stringify({ sha: COMMIT, siblings }));
  if (request.url === `/org/tiny/resolve/${COMMIT}/config.json`) return void response.end("{}");
  if (request.url !== `/org/tiny/resolve/${COMMIT}/model.safetensors`) return void response.writeHead(404).end();
  if (served.length === 0) {
    // The connection breaks in the middle.
    response
      .writeHead(200, { "content-length": weights.length })
      .write(weights.subarray(0, 3000), () => response.destroy());
    return;
  }
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0);
  response.writeHead(from > 0 ? 206 : 200).end(served.subarray(from));
}

const server = createServer(answer);
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  model = { endpoint, name: "org/tiny", revision: "main", token: "secret" };
});
afterAll(() => void server.close());

test("the files of a model, those of other programs left out", async () => {
  const { commit, files } = await listFiles(model);
  expect(commit).toBe(COMMIT);
  expect(files.map(({ path }) => path)).toEqual(["config.json", "model.safetensors"]);
  await expect(listFiles({ ...model, name: "org/none" })).rejects.toThrow("answered 404: there is no such model");
});

test("a download continues where it ended, and what is damaged gets no name", async () => {
  const folder = tempDir();
  const { commit, files } = await listFiles(model);
  const large = files[1]!;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `model.safetensors.${COMMIT.slice(0, 12)}.part`), weights.subarray(0, 5000));
  asked = [];
  expect(await download(model, commit, large, folder, () => {})).toBe(true);
  expect(asked).toEqual([`/org/tiny/resolve/${COMMIT}/model.safetensors bytes=5000- Bearer secret`]);
  expect(readFileSync(join(folder, "model.safetensors")).equals(weights)).toBe(true);
  expect(await download(model, commit, large, folder, () => {})).toBe(false);

  const other = tempDir();
  served = Buffer.from(weights);
  served[7] = 0;
  await expect(download(model, commit, large, other, () => {})).rejects.toThrow("its SHA-256 differs");
  expect(readdirSync(other)).not.toContain("model.safetensors");
  served = weights.subarray(0, 4000);
  await expect(download(model, commit, large, other, () => {})).rejects.toThrow("ended after 4000 of 19000 bytes");
  served = weights;
  expect(await download(model, commit, large, other, () => {})).toBe(true);
});

test.each([
  ["no JSON", "<html>Log in</html>"],
  ["nothing", "null"],
  ["no commit", JSON.stringify({ siblings })],
  ["a commit that is a path", JSON.stringify({ sha: "../../x", siblings })],
  ["files without names", JSON.stringify({ sha: COMMIT, siblings: [null, 5, {}] })],
])("a server that answers with %s is not the hub", async (_, text) => {
  list = text;
  await expect(listFiles(model)).rejects.toThrow(/did not answer as the hub does. Is HF_ENDPOINT right\?$/);
  list = undefined;
});

test("a connection that breaks is an error that says how to continue", async () => {
  const { commit, files } = await listFiles(model);
  const folder = tempDir();
  served = weights.subarray(0, 0);
  const message = /model.safetensors ended after \d+ of 19000 bytes\. The same command continues where it ended\./;
  await expect(download(model, commit, files[1]!, folder, () => {})).rejects.toThrow(message);
  served = weights;
  expect(await download(model, commit, files[1]!, folder, () => {})).toBe(true);
});
