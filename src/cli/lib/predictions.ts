// Outputs of a model as a file: tensors as they are, or a row or a line for each sample.
import { encodeSafetensors } from "../../checkpoint/formats/safetensors.ts";
import { fromHostArrays } from "../../checkpoint/formats/host-arrays.ts";
import { isHostArray, type HostArray } from "../../core/arrays.ts";
import type { HostTensors } from "../../core/model.ts";
import { toJson } from "../../loggers/jsonl-lines.ts";

export const PREDICTION_ENDINGS: readonly string[] = [".safetensors", ".csv", ".jsonl"];

/** What a model with one output calls it. */
const ONLY = "output";

export function encodePredictions(ending: string, outputs: HostArray | HostTensors): Uint8Array | string {
  const named = isHostArray(outputs) ? { [ONLY]: outputs } : outputs;
  if (ending === ".safetensors") return encodeSafetensors(fromHostArrays(named));
  const columns = Object.entries(named).map(([name, array]) => columnOf(name, array));
  const samples = columns[0]?.samples ?? 0;
  return ending === ".csv" ? toCsv(columns, samples) : toLines(columns, samples);
}

interface Column {
  readonly name: string;
  readonly samples: number;
  /** Numbers of one sample. */
  readonly width: number;
  row(sample: number): number[];
}

function columnOf(name: string, array: HostTensors[string]): Column {
  const { data, shape } = array;
  const [samples = 0, ...rest] = shape;
  const width = rest.reduce((size, n) => size * n, 1);
  return {
    name,
    samples,
    width,
    row: (sample) => Array.from(data.subarray(sample * width, (sample + 1) * width), Number),
  };
}

/** `sample, output.0, output.1`; a single number has the output's name alone. */
function toCsv(columns: readonly Column[], samples: number): string {
  const head = columns.flatMap(({ name, width }) =>
    width === 1 ? [name] : Array.from({ length: width }, (_, i) => `${name}.${i}`),
  );
  const lines = [["sample", ...head].join(",")];
  for (let i = 0; i < samples; i++) lines.push([i, ...columns.flatMap((column) => column.row(i))].join(","));
  return `${lines.join("\n")}\n`;
}

/** `{"sample":0,"output":[…]}` */
function toLines(columns: readonly Column[], samples: number): string {
  let text = "";
  for (let i = 0; i < samples; i++)
    text += `${toJson({ sample: i, ...Object.fromEntries(columns.map(({ name, width, row }) => [name, width === 1 ? row(i)[0] : row(i)])) })}\n`;
  return text;
}
