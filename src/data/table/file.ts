// Where the bytes of a table come from: a path, an address, a Blob, a Response, a stream or a text.
import { DataError } from "../../core/errors.ts";
import { show } from "../../core/options.ts";
import { builtin, builtinOrNone } from "../../platform/builtin.ts";

/** Bytes as they arrive: a ReadableStream, a stream of Node, a generator. */
export type ByteStream =
  | AsyncIterable<Uint8Array | string>
  | { getReader(): { read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }> } };

/** A path (in Node) or an address; a Blob or File; a Response; a stream of bytes; a text in memory. */
export type TableFile = string | URL | Blob | Response | ByteStream | { readonly text: string };

/** A file to read. */
export interface OpenFile {
  /** For messages, and for its ending. */
  readonly name: string;
  /** Its bytes from the beginning. */
  blocks(): AsyncIterable<Uint8Array>;
  /** Any part of it, where that is possible without reading all. */
  readonly parts?: () => Promise<Parts>;
}

/** A file that can be read in parts. */
export interface Parts {
  readonly byteLength: number;
  slice(start: number, end?: number): Promise<ArrayBuffer>;
  close(): Promise<void>;
}

/** Large enough that reading does not wait for each block. */
const BLOCK_BYTES = 2 ** 20;

export function openFile(owner: string, file: TableFile): OpenFile {
  if (typeof file === "string" || file instanceof URL) return openPath(owner, file);
  if (typeof Blob !== "undefined" && file instanceof Blob) return openBlob(file);
  if (typeof Response !== "undefined" && file instanceof Response)
    return { name: file.url || "response", blocks: () => bodyOf(file, file.url || "response") };
  if (typeof file === "object" && file !== null) {
    if ("text" in file && typeof file.text === "string") {
      const { text } = file;
      return { name: "text", blocks: () => once(new TextEncoder().encode(text)) };
    }
    if ("getReader" in file || Symbol.asyncIterator in file)
      return { name: "stream", blocks: () => blocksOf(file as ByteStream) };
  }
  throw new DataError(
    `${owner}: expected a path, an address, a Blob, a Response, a stream of bytes or { text }, got ${show(file)}.`,
  );
}

/** A path in Node; an address with a scheme, or any in a browser, is fetched. */
function openPath(owner: string, file: string | URL): OpenFile {
  const address = String(file);
  if (address.startsWith("file:")) {
    const path = builtin(owner, "node:url").fileURLToPath(address);
    return openDisk(path);
  }
  if (/^(?:https?|blob|data):/.test(address) || !builtinOrNone("node:fs"))
    return { name: address.startsWith("data:") ? "data" : address, blocks: () => fetched(address) };
  return openDisk(address);
}

async function* fetched(address: string): AsyncGenerator<Uint8Array> {
  let response: Response;
  try {
    response = await fetch(address);
  } catch (cause) {
    throw new DataError(`${address} cannot be fetched: ${(cause as Error).message}.`, { cause });
  }
  yield* bodyOf(response, address);
}

async function* bodyOf(response: Response, name: string): AsyncGenerator<Uint8Array> {
  if (!response.ok) throw new DataError(`${name} cannot be fetched: the server answered ${response.status}.`);
  if (response.bodyUsed) throw new DataError(`${name}: the body of this Response has been read before.`);
  if (response.body) yield* blocksOf(response.body);
}

function openBlob(blob: Blob): OpenFile {
  const name = "name" in blob && typeof blob.name === "string" ? blob.name : "blob";
  return { name, blocks: () => blocksOf(blob.stream()), parts: async () => partsOf(blob) };
}

/** The parts of a Blob. */
export const partsOf = (blob: Blob): Parts => ({
  byteLength: blob.size,
  slice: (start, end) => blob.slice(start, end).arrayBuffer(),
  close: async () => {},
});

function openDisk(path: string): OpenFile {
  return {
    name: path,
    async *blocks() {
      const fs = builtin("readTable", "node:fs");
      try {
        yield* fs.createReadStream(path, { highWaterMark: BLOCK_BYTES }) as AsyncIterable<Uint8Array>;
      } catch (cause) {
        throw unreadable(path, cause);
      }
    },
    async parts() {
      const { open } = builtin("readTable", "node:fs/promises");
      try {
        const handle = await open(path);
        const { size } = await handle.stat();
        return {
          byteLength: size,
          async slice(start, end = size) {
            const bytes = new Uint8Array(end - start);
            let done = 0;
            while (done < bytes.length) {
              const { bytesRead } = await handle.read(bytes, done, bytes.length - done, start + done);
              if (bytesRead === 0) throw new DataError(`${path} has become shorter while it was read.`);
              done += bytesRead;
            }
            return bytes.buffer;
          },
          close: () => handle.close(),
        };
      } catch (cause) {
        throw unreadable(path, cause);
      }
    },
  };
}

function unreadable(path: string, cause: unknown): DataError {
  const { code, message } = cause as { code?: string; message: string };
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "there is no such file",
    EISDIR: "it is a directory",
    EACCES: "permission denied",
  };
  return new DataError(`${path}: ${reasons[code ?? ""] ?? message}.`, { cause });
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* blocksOf(stream: ByteStream): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const block of "getReader" in stream ? readToEnd(stream) : stream) {
    if (typeof block !== "string" && !(block instanceof Uint8Array))
      throw new DataError(`stream: expected blocks of bytes (Uint8Array) or text, got ${show(block)}.`);
    yield typeof block === "string" ? encoder.encode(block) : block;
  }
}

type Readable = Extract<ByteStream, { getReader: unknown }>;

/** To its end; one that is left before is cancelled. Safari's streams are not iterable. */
export async function* readToEnd(stream: Readable): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isDone = done;
      if (done) return;
      yield value;
    }
  } finally {
    // One that has failed cannot be cancelled, and its error is on the way already.
    if (!isDone) await reader.cancel().catch(() => undefined);
  }
}
