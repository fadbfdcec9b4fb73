// Reads the scalars of TensorBoard's event files as they lie on the disk, by code of its own: what the writer gets wrong
// must not be read right.
import { readdirSync, readFileSync } from "node:fs";

export interface ScalarEvent {
  readonly step: number;
  readonly tag: string;
  readonly value: number;
}

/** Every scalar of every file in a folder, in the order of the files' names. A torn record ends its file. */
export function readScalars(folder: string): ScalarEvent[] {
  const files = readdirSync(folder).filter((name) => name.includes("tfevents"));
  return files.sort().flatMap((name) => scalarsIn(readFileSync(`${folder}/${name}`)));
}

function scalarsIn(bytes: Buffer): ScalarEvent[] {
  const found: ScalarEvent[] = [];
  for (let at = 0; at + 12 <= bytes.length;) {
    const length = Number(bytes.readBigUInt64LE(at));
    if (at + 16 + length > bytes.length) break;
    found.push(...scalarsOf(bytes.subarray(at + 12, at + 12 + length)));
    at += 16 + length;
  }
  return found;
}

function scalarsOf(event: Buffer): ScalarEvent[] {
  const fields = fieldsOf(event);
  const step = (fields.find(({ field }) => field === 2)?.value as number | undefined) ?? 0;
  const summary = fields.find(({ field }) => field === 5)?.value as Buffer | undefined;
  if (!summary) return [];
  return fieldsOf(summary).flatMap(({ value: inner }) => {
    const parts = fieldsOf(inner as Buffer);
    const tag = String(parts.find(({ field }) => field === 1)?.value);
    const simple = parts.find(({ field }) => field === 2)?.value as Buffer | undefined;
    return simple ? [{ step, tag, value: simple.readFloatLE() }] : [];
  });
}

interface Field {
  readonly field: number;
  /** A varint as a number, anything else as its bytes. */
  readonly value: number | Buffer;
}

function fieldsOf(bytes: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++]!;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const head = varint();
    const kind = head & 7;
    if (kind === 0) fields.push({ field: head >> 3, value: varint() });
    else {
      const length = kind === 2 ? varint() : kind === 1 ? 8 : 4;
      fields.push({ field: head >> 3, value: bytes.subarray(at, at + length) });
      at += length;
    }
  }
  return fields;
}
