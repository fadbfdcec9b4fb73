// Safetensors files from which single tensors are read, without the rest.
import { badFile, quote, suggestName, type BadFile } from "./bad-file.ts";
import { headerLength, parseHeader, type Header, type TensorInfo } from "./safetensors-header.ts";
import type { FileTensor } from "./tensor.ts";

/** Where bytes come from: a file handle, a Blob, a server that knows ranges. */
export interface ByteSource {
  readonly size: number;
  read(offset: number, length: number): Promise<Uint8Array>;
}

/**
 * A safetensors file opened for reading one tensor at a time: only the header is in memory.
 * @example const weight = await (await SafetensorsFile.open(source, "model.safetensors")).read("0.weight");
 */
export class SafetensorsFile {
  readonly metadata: Readonly<Record<string, string>>;
  readonly #source: ByteSource;
  readonly #header: Header;
  readonly #dataStart: number;
  readonly #bad: BadFile;

  private constructor(source: ByteSource, header: Header, dataStart: number, bad: BadFile) {
    this.metadata = header.metadata;
    this.#source = source;
    this.#header = header;
    this.#dataStart = dataStart;
    this.#bad = bad;
  }

  /** Reads and checks the header; `what` names the file in errors. */
  static async open(source: ByteSource, what: string): Promise<SafetensorsFile> {
    const bad = badFile(what);
    const start = await readFully(source, 0, Math.min(8, source.size), bad);
    const length = headerLength(start, source.size, bad);
    const header = await readFully(source, 8, length, bad);
    const parsed = parseHeader(header, source.size - 8 - length, bad);
    return new SafetensorsFile(source, parsed, 8 + length, bad);
  }

  /** In the order of the data. */
  get names(): string[] {
    return [...this.#header.tensors.keys()];
  }

  /** Type, shape and place of a tensor, without reading it. */
  info(name: string): TensorInfo {
    const info = this.#header.tensors.get(name);
    if (info === undefined) {
      throw this.#bad(
        `it has no tensor ${quote(name)}`,
        `It has ${this.#header.tensors.size} tensors.${suggestName(name, this.#header.tensors.keys())}`,
      );
    }
    return info;
  }

  async read(name: string): Promise<FileTensor> {
    const { dtype, shape, begin, end } = this.info(name);
    const bytes = await readFully(this.#source, this.#dataStart + begin, end - begin, this.#bad);
    return { dtype, shape, bytes };
  }
}

async function readFully(source: ByteSource, offset: number, length: number, bad: BadFile): Promise<Uint8Array> {
  const bytes = await source.read(offset, length).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw bad(`it could not be read: ${why}`, "Is the disk or the connection still there?", { cause });
  });
  if (bytes.length !== length)
    throw bad(`it gave ${bytes.length} of ${length} bytes at ${offset}, so it has become shorter since it was opened`);
  return bytes;
}
