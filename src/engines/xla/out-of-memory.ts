// What to say when a device has no memory left: what the program needs, the largest arrays it was given, and what there is.
import { sizeOf } from "../../core/arrays.ts";
import type { DeviceMemory } from "../../core/loop/session.ts";
import type { Buffer } from "../engine.ts";
import { PjrtError, RESOURCE_EXHAUSTED } from "./pjrt/api.ts";
import type { ProgramMemory } from "./pjrt/program.ts";

export interface MemoryUse {
  readonly device: string;
  readonly memory: DeviceMemory | undefined;
  /** Of the program that failed; undefined where none did, or where the plugin cannot say. */
  readonly program?: ProgramMemory | undefined;
  /** What it was given, with names. */
  readonly given?: readonly { readonly name: string; readonly buffer: Pick<Buffer, "shape"> }[];
}

const LARGEST = 3;

/** The error, with what is known about the memory; any other error as it is. */
export function withMemoryUse(error: unknown, use: () => MemoryUse): unknown {
  return error instanceof PjrtError && error.code === RESOURCE_EXHAUSTED ? error.with(describe(use())) : error;
}

function describe({ device, memory, program, given = [] }: MemoryUse): string {
  const parts: string[] = [];
  if (program) {
    const { inputs, outputs, reused, temporary } = program;
    const fresh = Math.max(outputs - reused, 0);
    parts.push(
      `The program needs ${size(inputs + fresh + temporary)}: ${size(inputs)} for arguments, ${size(fresh)} for results and ${size(temporary)} for what it computes in between, which grows with the batch.`,
    );
  }
  const largest = given.toSorted((a, b) => bytesOf(b.buffer) - bytesOf(a.buffer)).slice(0, LARGEST);
  if (largest.length > 0) {
    const list = largest.map(({ name, buffer }) => `${name} [${buffer.shape.join(", ")}] ${size(bytesOf(buffer))}`);
    parts.push(`Its largest arguments: ${list.join("; ")}.`);
  }
  if (memory) {
    const limit = memory.bytesLimit === undefined ? "" : ` of ${size(memory.bytesLimit)}`;
    parts.push(`In use on ${device}: ${size(memory.bytesInUse)}${limit}.`);
  }
  return parts.join(" ");
}

const bytesOf = ({ shape }: Pick<Buffer, "shape">): number => 4 * sizeOf(shape);

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

function size(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < UNITS.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 ? value : value.toPrecision(3)} ${UNITS[unit]}`;
}
