// A file of predictions, written under a temporary name and renamed when it is complete.
import { encodeSafetensors } from "../../checkpoint/formats/safetensors.ts";
import { type HostArray, isHostArray } from "../../core/arrays.ts";
import type { FileTensors } from "../../checkpoint/formats/tensor.ts";
import { OptionError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import { type Builtin, builtin } from "../../platform/builtin.ts";
import { fromHostArrays } from "../../checkpoint/formats/tensor-values.ts";
import { toJson } from "../../runs/exact-json.ts";

type Fs = Builtin<"node:fs/promises">;
type Handle = Awaited<ReturnType<Fs["open"]>>;

export class PredictionFile {
  readonly #owner: string;
  readonly #fs: Fs;
  readonly #file: string;
  readonly #beside: string;
  readonly #handle: Handle;
  /** Undefined for safetensors, whose header, at the start of the file, has the number of rows. */
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
    const fs = builtin(owner, "node:fs/promises");
    await fs.mkdir(builtin(owner, "node:path").dirname(file), { recursive: true });
    const beside = `${file}.${crypto.randomUUID()}.tmp`;
    return new PredictionFile(owner, fs, file, beside, await fs.open(beside, "wx"));
  }

  async add(outputs: HostArray | HostTensors): Promise<void> {
    if (this.#rows) await this.#handle.writeFile(this.#rows.rows(outputs));
    else this.#collected.push(fromHostArrays(namedOutputs(outputs)));
  }

  /** Completes the file and gives it its name. */
  async finish(overwrite: boolean): Promise<void> {
    if (!this.#rows) await this.#handle.writeFile(encodeSafetensors(joined(this.#collected)));
    await this.#handle.sync();
    await this.#handle.close();
    if (overwrite) return this.#fs.rename(this.#beside, this.#file);
    try {
      // Unlike a rename, a link never replaces a file that appeared meanwhile.
      await this.#fs.link(this.#beside, this.#file);
    } catch (error) {
      if ((error as { code?: string }).code !== "EEXIST") throw error;
      throw new OptionError(`${this.#owner}: ${this.#file} exists, and \`overwrite\` is false.`);
    }
    return this.#fs.rm(this.#beside, { force: true });
  }

  /** Removes the incomplete file. */
  async discard(): Promise<void> {
    // Already closed if `finish` failed.
    await this.#handle.close().catch(() => undefined);
    await this.#fs.rm(this.#beside, { force: true });
  }
}

/** All batches, concatenated along the first dimension. */
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

/** The name of a model's only output. */
const ONLY = "output";

const namedOutputs = (outputs: HostArray | HostTensors): HostTensors =>
  isHostArray(outputs) ? { [ONLY]: outputs } : outputs;

interface Column {
  readonly name: string;
  readonly samples: number;
  /** Numbers per sample. */
  readonly width: number;
  row(sample: number): number[];
}

function columnOf(name: string, { data, shape }: HostArray): Column {
  const [samples = 0, ...rest] = shape;
  const width = rest.reduce((size, n) => size * n, 1);
  const row = (sample: number): number[] =>
    Array.from(data.subarray(sample * width, (sample + 1) * width) as ArrayLike<number | bigint>, Number);
  return { name, samples, width, row };
}

/** Outputs as text: a line of JSON or a row of CSV for each sample, batch after batch. */
export class PredictionRows {
  readonly #form: "jsonl" | "csv";
  /** Samples so far, for the numbers of the next rows. */
  #samples = 0;

  constructor(form: "jsonl" | "csv") {
    this.#form = form;
  }

  /** The rows of the next batch, preceded in a CSV file by the header line if they are the first. */
  rows(outputs: HostArray | HostTensors): string {
    const columns = Object.entries(namedOutputs(outputs)).map(([name, array]) => columnOf(name, array));
    const lines = this.#form === "csv" && this.#samples === 0 ? [csvHead(columns)] : [];
    const count = columns[0]?.samples ?? 0;
    for (let i = 0; i < count; i++) lines.push(this.#row(columns, i, this.#samples + i));
    this.#samples += count;
    return lines.map((line) => `${line}\n`).join("");
  }

  #row(columns: readonly Column[], at: number, sample: number): string {
    if (this.#form === "csv") return [sample, ...columns.flatMap((column) => column.row(at))].join(",");
    const outputs = columns.map(({ name, width, row }) => [name, width === 1 ? row(at)[0] : row(at)] as const);
    return toJson({ sample, ...Object.fromEntries(outputs) });
  }
}

/** `sample,output.0,output.1`; a single number has the output's name without an index. */
function csvHead(columns: readonly Column[]): string {
  const names = columns.flatMap(({ name, width }) =>
    width === 1 ? [name] : Array.from({ length: width }, (_, i) => `${name}.${i}`),
  );
  return ["sample", ...names].join(",");
}
