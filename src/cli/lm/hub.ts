// Files of a model on the Hugging Face hub, by its documented addresses: <endpoint>/<name>/resolve/<revision>/<file>.
import { createHash } from "node:crypto";
import { createReadStream, existsSync, renameSync, statSync } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { UsageError } from "../errors.ts";

export interface HubModel {
  readonly endpoint: string;
  /** `org/name`. */
  readonly name: string;
  readonly revision: string;
  /** For models that ask for a licence first. */
  readonly token: string | undefined;
}

export interface HubFile {
  readonly path: string;
  readonly size: number | undefined;
  /** SHA-256 of a large file; the hub tells it. */
  readonly sha256: string | undefined;
}

const headersOf = ({ token }: HubModel): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

/** The commit and the files that `loadModel` reads. */
export async function listFiles(
  model: HubModel,
): Promise<{ readonly commit: string; readonly files: readonly HubFile[] }> {
  const { endpoint, name, revision } = model;
  const url = `${endpoint}/api/models/${name}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const response = await request(model, url);
  const found: unknown = await response.json().catch(() => undefined);
  if (!isAnswer(found)) throw new UsageError(`${url} did not answer as the hub does. Is HF_ENDPOINT right?`);
  const files = found.siblings.map(({ rfilename, size, lfs }) => ({
    path: rfilename,
    size: lfs?.size ?? size,
    sha256: lfs?.sha256,
  }));
  const wanted = files.filter(({ path }) => isWanted(path));
  if (!wanted.some(({ path }) => path.endsWith(".safetensors")))
    throw new UsageError(
      `${name} has no safetensors at ${revision}${files.some(({ path }) => path.endsWith(".gguf")) ? ", but GGUF files, which are for other programs" : ""}. It has: ${files.map(({ path }) => path).join(", ")}.`,
    );
  return { commit: found.sha, files: wanted };
}

interface Sibling {
  readonly rfilename: string;
  readonly size?: number;
  readonly lfs?: { readonly sha256: string; readonly size: number } | null;
}

interface Answer {
  readonly sha: string;
  readonly siblings: readonly Sibling[];
}

/** The commit becomes part of a path. */
function isAnswer(found: unknown): found is Answer {
  const { sha, siblings } = (found ?? {}) as Partial<Answer>;
  const isCommit = typeof sha === "string" && /^[0-9a-f]{40,64}$/.test(sha);
  return isCommit && Array.isArray(siblings) && siblings.every((each) => typeof each?.rfilename === "string");
}

/** Files beside config.json; those in folders are for other programs. A name cannot leave the folder. */
const isWanted = (path: string): boolean =>
  /^[\w.-]+\.(?:json|jinja|safetensors|model|txt)$/.test(path) &&
  !path.startsWith(".") &&
  !/^(?:consolidated|adapter)/.test(path);

/** Downloads a file, from where an earlier attempt ended. Resolves to false where it was there already. */
export async function download(
  model: HubModel,
  commit: string,
  { path, size, sha256 }: HubFile,
  folder: string,
  onBytes: (bytes: number) => void,
): Promise<boolean> {
  const target = join(folder, path);
  if (existsSync(target) && (size === undefined || statSync(target).size === size)) return false;
  await mkdir(dirname(target), { recursive: true });
  // A part of another commit would be no beginning of this one.
  const part = `${target}.${commit.slice(0, 12)}.part`;
  const from = existsSync(part) ? statSync(part).size : 0;
  const url = `${model.endpoint}/${model.name}/resolve/${commit}/${path}`;
  const complete = size !== undefined && from === size;
  let isBroken = false;
  if (!complete) {
    const response = await request(model, url, from > 0 ? { range: `bytes=${from}-` } : {});
    // A server that knows no ranges sends all of it.
    const append = response.status === 206;
    onBytes(append ? from : 0);
    const file = await open(part, append ? "a" : "w");
    try {
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
        await file.writeFile(chunk);
        onBytes(chunk.length);
      }
      await file.sync();
    } catch (error) {
      // Of the connection; an error of the disk is none of these.
      if (!(error instanceof TypeError)) throw error;
      isBroken = true;
    } finally {
      await file.close();
    }
  }
  const got = statSync(part).size;
  if (isBroken || (size !== undefined && got !== size))
    throw new UsageError(
      `${path} ended after ${got}${size === undefined ? "" : ` of ${size}`} bytes. The same command continues where it ended.`,
    );
  if (sha256 !== undefined && (await digestOf(part)) !== sha256) {
    renameSync(part, `${part}.damaged`);
    throw new UsageError(`${path} is not what the hub says: its SHA-256 differs. The same command downloads it again.`);
  }
  renameSync(part, target);
  return true;
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}

async function request(model: HubModel, url: string, headers: Record<string, string> = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { headers: { ...headersOf(model), ...headers } });
  } catch (cause) {
    const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause);
    throw new UsageError(`${url} cannot be reached: ${reason}. HF_ENDPOINT names another server.`, { cause });
  }
  if (response.ok) return response;
  const { status } = response;
  const why: Readonly<Record<number, string>> = {
    401: "it asks who you are. Models with a licence to accept need HF_TOKEN; a misspelt name gets this answer, too",
    403: "you have not been given access. Accept the model's licence on its page",
    404: "there is no such model, revision or file",
  };
  throw new UsageError(`${url} answered ${status}: ${why[status] ?? response.statusText}.`);
}
