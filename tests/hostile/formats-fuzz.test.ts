// Files with random damage: each is read or refused with a CheckpointError, within 50 ms. Nothing else may come out.
// 100,000 files by default; HOOKLINE_FUZZ=1000000 npx vitest run tests/hostile/formats-fuzz for a million.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import {
  type FileTensor,
  type FileTensors,
  badFile,
  joinBytes,
  isFileTensor,
} from "../../src/checkpoint/formats/tensor.ts";
import { decodePt, encodePt } from "../../src/checkpoint/formats/torch/pt.ts";
import { decodeSafetensors, encodeSafetensors } from "../../src/checkpoint/formats/safetensors.ts";
import { ZipFile, zipParts } from "../../src/checkpoint/formats/torch/zip.ts";
import { CheckpointError } from "../../src/core/errors.ts";
import { Rng } from "../../src/data/random.ts";
import { takesTooLong } from "./formats-measure.ts";
import type { PtValue } from "../../src/checkpoint/formats/torch/pickle-writer.ts";

const CASES = Number(process.env.HOOKLINE_FUZZ ?? 100_000);

const tensor = (dtype: FileTensor["dtype"], shape: number[], size: number): FileTensor => ({
  dtype,
  shape,
  bytes: Uint8Array.from({ length: size }, (_, i) => i * 37),
});
const tensors: FileTensors = {
  "0.weight": tensor("F32", [2, 3], 24),
  "0.bias": tensor("BF16", [3], 6),
  steps: tensor("I64", [], 8),
  mask: tensor("BOOL", [5], 5),
  tür: tensor("F16", [0, 4], 0),
};
const value = {
  model: tensors,
  optimizer: { state: new Map([[0, { step: 3 }]]), lr: 0.1 },
  epoch: 3,
  note: ["a", null],
};
const safetensors = encodeSafetensors(tensors, { format: "pt" });
const pts = [encodePt(value), new Uint8Array(readFileSync(new URL("./formats-torch-1.13.pt", import.meta.url)))];
const archives = pts.map((bytes) => {
  const zip = new ZipFile(bytes, badFile("seed"));
  const storages = zip.names
    .filter((name) => name.startsWith("archive/data/"))
    .map((name) => [name, zip.get(name)!] as const);
  return { pickle: zip.get("archive/data.pkl")!, storages };
});

/** Bytes that mean something to one of the formats. */
const TOKENS = [
  "0",
  "9",
  "-",
  "[",
  "]",
  "{",
  "}",
  '"',
  ",",
  "\\",
  "PK",
  "(",
  "t",
  "R",
  "Q",
  "s",
  "u",
  "a",
  "e",
  "b",
  ".",
];
const NUMBERS = [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];

/** The same bytes with one to four random changes. */
function damage(seed: Uint8Array, rng: Rng): Uint8Array {
  let bytes: Uint8Array = seed.slice();
  for (let changes = 1 + rng.int(4); changes > 0; changes--) {
    const [at, other] = [rng.int(bytes.length + 1), rng.int(bytes.length + 1)];
    const piece = bytes.slice(Math.min(at, other), Math.min(Math.max(at, other), Math.min(at, other) + 40));
    const view = new DataView(bytes.buffer);
    const kind = rng.int(8);
    if (kind === 0) bytes[at] = rng.int(256);
    else if (kind === 1) bytes[at]! ^= 1 << rng.int(8);
    else if (kind === 2) bytes = bytes.slice(0, at);
    else if (kind === 3) bytes = joinBytes([bytes.subarray(0, at), piece, bytes.subarray(at)]);
    else if (kind === 4) bytes = joinBytes([bytes.subarray(0, at), bytes.subarray(at + 1 + rng.int(8))]);
    else if (kind === 5) bytes.set(piece.subarray(0, bytes.length - at), at);
    else if (kind === 6) bytes.set(Buffer.from(TOKENS[rng.int(TOKENS.length)]!).subarray(0, bytes.length - at), at);
    else if (at + 4 <= bytes.length) view.setUint32(at, NUMBERS[rng.int(NUMBERS.length)]!, true);
  }
  return bytes;
}

/** What is wrong with a value that was read from a damaged file. */
function unsound(read: PtValue | Record<string, FileTensor>, size: number): boolean {
  if (isFileTensor(read)) return read.bytes.length > size;
  if (typeof read !== "object" || read === null || read instanceof Uint8Array) return false;
  return (read instanceof Map ? [...read.values()] : Object.values(read)).some((each) =>
    unsound(each as PtValue, size),
  );
}

const kinds: Record<string, (rng: Rng) => () => PtValue | FileTensors> = {
  safetensors: (rng) => {
    const bytes = damage(safetensors, rng);
    return () => decodeSafetensors(bytes, "f").tensors;
  },
  "zip files": (rng) => {
    const bytes = damage(pts[rng.int(pts.length)]!, rng);
    return () => decodePt(bytes, "f");
  },
  // In a sound zip, so that the damage gets past its checksums.
  pickles: (rng) => {
    const { pickle, storages } = archives[rng.int(archives.length)]!;
    const bytes = joinBytes(zipParts([["archive/data.pkl", damage(pickle, rng)], ...storages]));
    return () => decodePt(bytes, "f");
  },
};

it.each(Object.keys(kinds))("random damage to %s", (name) => {
  const count = Math.ceil(CASES / Object.keys(kinds).length);
  const wrong: string[] = [];
  let [accepted, refused, total] = [0, 0, 0];
  for (let i = 0; i < count; i++) {
    const read = kinds[name]!(new Rng(17, i));
    const start = performance.now();
    const isSlow = takesTooLong(() => {
      try {
        if (unsound(read(), 4096)) wrong.push(`case ${i} gives more than the file has`);
        accepted++;
      } catch (error) {
        refused++;
        if (!(error instanceof CheckpointError)) wrong.push(`case ${i}: ${String(error)}`);
      }
    });
    total += performance.now() - start;
    if (isSlow) wrong.push(`case ${i} takes too long`);
  }
  expect(wrong).toEqual([]);
  // Damage must reach both ends, or it tests nothing.
  expect(accepted).toBeGreaterThan(count / 10_000);
  expect(refused).toBeGreaterThan(count / 2);
  if (process.env.HOOKLINE_FUZZ !== undefined)
    console.log(
      `${name}: ${count} files, ${accepted} read, ${refused} refused, ${Math.round((1000 * count) / total)}/s`,
    );
});
