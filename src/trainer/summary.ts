// A table of a model's parameters and buffers.
import { safeLine } from "../core/safe-text.ts";
import { sizeOf } from "../core/arrays.ts";
import type { HostTensors } from "../core/model.ts";

const count = (n: number): string => n.toLocaleString("en-US");

export function describeParams(params: HostTensors, state: HostTensors): string {
  const row = (name: string, shape: readonly number[], note: string): [string, string, string] => [
    safeLine(name) + note,
    `[${shape.join(", ")}]`,
    count(sizeOf(shape)),
  ];
  const rows = [
    ...Object.entries(params).map(([name, { shape }]) => row(name, shape, "")),
    ...Object.entries(state).map(([name, { shape }]) => row(name, shape, " (buffer)")),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((cells) => cells[column]!.length)));
  const lines = rows.map(
    ([name, shape, n]) => `${name.padEnd(widths[0]!)}  ${shape.padEnd(widths[1]!)}  ${n.padStart(widths[2]!)}`,
  );
  const total = Object.values(params).reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  return [...lines, `${count(total)} parameters in ${Object.keys(params).length} tensors`].join("\n");
}
