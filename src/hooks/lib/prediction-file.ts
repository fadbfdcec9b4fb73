// A file of predictions that appears as a whole: it grows beside its name, and takes the name when it is complete.
import { encodeSafetensors } from "../../checkpoint/formats/safetensors.ts";
import { fromHostArrays } from "../../checkpoint/formats/host-arrays.ts";
import type { HostArray } from "../../core/arrays.ts";
import type { FileTensors } from "../../checkpoint/formats/tensor.ts";
import { OptionError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import { builtin } from "../../platform/builtin.ts";
import { namedOutputs, PredictionRows } from "./prediction-rows.ts";

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs/promises">>;
type Path = ReturnType<typeof process.getBuiltinModule<"node:path">>;
type Handle = Awaited<ReturnType<Fs["open"]>>;

export class PredictionFile {
  readonly #owner: string;
  readonly #fs: Fs;
  readonly #file: string;
  readonly #beside: string;
  readonly #handle: Handle;
  /** Undefined for safetensors, whose header comes first and says how many rows there are. */
  readonly #rows: PredictionRows | undefined;
  readonly #collected: FileTensors[] = [];

  private constructor(owner: string, fs: Fs, file: string, beside: string, handle: Handle) {
    this.#owner = owner;
    this.#fs = fs;
    this.#file = file;
    this.#beside = beside;
    this.#handle = handle;
    const text = /\.(jsonl|csv)$/i.exec(file)?.[1]?.toLowerCase() as "jsonl" | "csv" | undefined;
    this.#rows = text && new PredictionRows(text);
  }

  static async open(owner: string, file: string): Promise<PredictionFile> {
    const fs = builtin<Fs>(owner, "node:fs/promises");
    await fs.mkdir(builtin<Path>(owner, "node:path").dirname(file), { recursive: true });
    const beside = `${file}.${crypto.randomUUID()}.tmp`;
    return new PredictionFile(owner, fs, file, beside, await fs.open(beside, "wx"));
  }

  async add(outputs: HostArray | HostTensors): Promise<void> {
    if (this.#rows) await this.#handle.writeFile(this.#rows.rows(outputs));
    else this.#collected.push(fromHostArrays(namedOutputs(outputs)));
  }

  /** Gives the complete file its name. */
  async finish(overwrite: boolean): Promise<void> {
    if (!this.#rows) await this.#handle.writeFile(encodeSafetensors(joined(this.#collected)));
    await this.#handle.sync();
    await this.#handle.close();
    if (overwrite) return this.#fs.rename(this.#beside, this.#file);
    try {
      // Unlike a rename, a link never replaces a file that has come meanwhile.
      await this.#fs.link(this.#beside, this.#file);
    } catch (error) {
      if ((error as { code?: string }).code !== "EEXIST") throw error;
      throw new OptionError(`${this.#owner}: ${this.#file} is there already, and \`overwrite\` is false.`);
    }
    return this.#fs.rm(this.#beside, { force: true });
  }

  /** Leaves nothing behind. */
  async discard(): Promise<void> {
    // Closed already where `finish` failed.
    await this.#handle.close().catch(() => undefined);
    await this.#fs.rm(this.#beside, { force: true });
  }
}

/** All batches along the first dimension, as a file keeps them. */
function joined(batches: readonly FileTensors[]): FileTensors {
  const join = (name: string): FileTensors[string] => {
    const parts = batches.map((batch) => batch[name]!);
    const { dtype, shape } = parts[0]!;
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.bytes.length, 0));
    let at = 0;
    for (const part of parts) {
      bytes.set(part.bytes, at);
      at += part.bytes.length;
    }
    return { dtype, shape: [parts.reduce((sum, part) => sum + (part.shape[0] ?? 1), 0), ...shape.slice(1)], bytes };
  };
  return Object.fromEntries(Object.keys(batches[0] ?? {}).map((name) => [name, join(name)]));
}
