// A model's outputs as text: a line of JSON or a row of CSV for each sample, batch after batch.
import { isHostArray, type HostArray } from "../../core/arrays.ts";
import type { HostTensors } from "../../core/model.ts";

/** The endings of files that can hold predictions. */
export const PREDICTION_ENDINGS: readonly string[] = [".jsonl", ".csv", ".safetensors"];

/** What a model with one output calls it. */
const ONLY = "output";

export const namedOutputs = (outputs: HostArray | HostTensors): HostTensors =>
  isHostArray(outputs) ? { [ONLY]: outputs } : outputs;

interface Column {
  readonly name: string;
  readonly samples: number;
  /** Numbers of one sample. */
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

/** JSON has no numbers that are not finite: they are strings there. */
const finiteOrText = (_: string, value: unknown): unknown =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value;

export class PredictionRows {
  readonly #form: "jsonl" | "csv";
  /** Samples so far: rows of the next batch are numbered from here. */
  #samples = 0;

  constructor(form: "jsonl" | "csv") {
    this.#form = form;
  }

  /** The rows of the next batch; before the first of a CSV file, its head. */
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
    return JSON.stringify({ sample, ...Object.fromEntries(outputs) }, finiteOrText);
  }
}

/** `sample,output.0,output.1`; a single number has the output's name alone. */
function csvHead(columns: readonly Column[]): string {
  const names = columns.flatMap(({ name, width }) =>
    width === 1 ? [name] : Array.from({ length: width }, (_, i) => `${name}.${i}`),
  );
  return ["sample", ...names].join(",");
}
