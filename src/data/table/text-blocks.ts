// Bytes of a text file as UTF-8 without a byte order mark: unpacked (gzip) and recoded where necessary.
import { DataError, OptionError } from "../../core/errors.ts";
import { messageOf } from "../../core/maybe.ts";
import { readToEnd } from "./file.ts";

/** Bytes that tell how a file is packed and encoded. */
const HEAD = 4;

/** Bytes that are searched for what no text has. */
const TEXT_HEAD = 1024;

/** The blocks of a text as UTF-8. `encoding` is a label of TextDecoder; default UTF-8, or UTF-16 where a mark says so. */
export async function* utf8Blocks(
  blocks: AsyncIterable<Uint8Array>,
  source: string,
  encoding: string | undefined,
): AsyncGenerator<Uint8Array> {
  const packed = await withHead(blocks);
  const { head, all } = startsWith(packed.head, 0x1f, 0x8b) ? await withHead(unpacked(packed.all, source)) : packed;
  const label = encoding ?? markedEncoding(head);
  if (label !== undefined) {
    yield* recoded(all, label);
    return;
  }
  if (head.includes(0)) {
    throw new DataError(
      `${source} is not a text: it has a byte 0 among its first. If it is UTF-16, give encoding: "utf-16le".`,
    );
  }
  let marked = startsWith(head, 0xef, 0xbb, 0xbf);
  for await (const block of all) {
    yield marked ? block.subarray(3) : block;
    marked = false;
  }
}

interface WithHead {
  readonly head: Uint8Array;
  readonly all: AsyncGenerator<Uint8Array>;
}

/** The same blocks, the first of which has enough bytes to look at. */
async function withHead(blocks: AsyncIterable<Uint8Array>): Promise<WithHead> {
  const input = blocks[Symbol.asyncIterator]();
  let head: Uint8Array = new Uint8Array();
  while (head.length < HEAD) {
    const { value, done } = await input.next();
    if (done) break;
    head = head.length === 0 ? value : Uint8Array.from([...head, ...value]);
  }
  return { head: head.subarray(0, TEXT_HEAD), all: all() };

  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      if (head.length > 0) yield head;
      yield* { [Symbol.asyncIterator]: () => input };
    } finally {
      await input.return?.();
    }
  }
}

const startsWith = (head: Uint8Array, ...bytes: readonly number[]): boolean =>
  bytes.every((byte, i) => head[i] === byte);

/** What the byte order mark says. */
function markedEncoding(head: Uint8Array): string | undefined {
  if (startsWith(head, 0xff, 0xfe)) return "utf-16le";
  return startsWith(head, 0xfe, 0xff) ? "utf-16be" : undefined;
}

async function* recoded(blocks: AsyncIterable<Uint8Array>, label: string): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(label);
  } catch (cause) {
    throw new OptionError(
      `Expected \`encoding\` to be one that TextDecoder knows, such as "windows-1252", got ${JSON.stringify(label)}.`,
      { option: "encoding", cause },
    );
  }
  for await (const block of blocks) yield encoder.encode(decoder.decode(block, { stream: true }));
  yield encoder.encode(decoder.decode());
}

async function* unpacked(blocks: AsyncIterable<Uint8Array>, source: string): AsyncGenerator<Uint8Array> {
  const gzip = new DecompressionStream("gzip");
  const writer = gzip.writable.getWriter();
  const write = async (): Promise<void> => {
    for await (const block of blocks) await writer.write(block as Uint8Array<ArrayBuffer>);
    await writer.close();
  };
  const writing = write().catch((cause: unknown) => writer.abort(cause).catch(() => undefined));
  try {
    yield* readToEnd(gzip.readable);
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    throw new DataError(`${source} is a damaged or truncated gzip file: ${messageOf(cause)}.`, { cause });
  } finally {
    await writing;
  }
}
