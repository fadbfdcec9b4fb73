// Writes our half of the exchange with PyTorch into a folder: npx tsx tests/interop/formats-write.ts FOLDER [CASES]
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromHostArrays } from "../../src/checkpoint/formats/tensor-values.ts";
import { encodePt } from "../../src/checkpoint/formats/torch/pt.ts";
import { decodeSafetensors, encodeSafetensors } from "../../src/checkpoint/formats/safetensors.ts";
import type { FileTensor, FileTensors } from "../../src/checkpoint/formats/tensor.ts";
import { Rng } from "../../src/data/random.ts";
import { models, outputsOf, weightsOf } from "./formats-models.ts";

const of = (dtype: FileTensor["dtype"], data: ArrayBufferView): FileTensor => ({
  dtype,
  shape: [data.byteLength / (data as Uint8Array).BYTES_PER_ELEMENT],
  bytes: new Uint8Array(data.buffer),
});

/** One tensor of each type that every PyTorch has; formats-torch.py knows the values. */
const types: FileTensors = {
  float32: of("F32", Float32Array.of(1.5, -0, Number.POSITIVE_INFINITY)),
  float64: of("F64", Float64Array.of(0.1, 1e300)),
  float16: of("F16", Uint16Array.of(0x3c00, 0xc000, 0x0001)),
  bfloat16: of("BF16", Uint16Array.of(0x3f80, 0xc000, 0x7f80)),
  int64: of("I64", BigInt64Array.of(2n ** 62n, -1n)),
  int32: of("I32", Int32Array.of(2 ** 31 - 1, -5)),
  int16: of("I16", Int16Array.of(-300)),
  int8: of("I8", Int8Array.of(-3, 4)),
  uint8: of("U8", Uint8Array.of(0, 255)),
  bool: of("BOOL", Uint8Array.of(1, 0, 1)),
  complex64: { ...of("C64", Float32Array.of(1, 2)), shape: [1] },
  empty: { dtype: "F32", shape: [0, 3], bytes: new Uint8Array(0) },
  scalar: { dtype: "F32", shape: [], bytes: new Uint8Array(Float32Array.of(7).buffer) },
};
/** Types that PyTorch has since 2.3. */
const newTypes: FileTensors = {
  uint16: of("U16", Uint16Array.of(65535)),
  uint32: of("U32", Uint32Array.of(2 ** 32 - 1)),
  uint64: of("U64", BigUint64Array.of(2n ** 64n - 1n)),
  float8_e4m3fn: of("F8_E4M3", Uint8Array.of(0x38)),
  float8_e5m2: of("F8_E5M2", Uint8Array.of(0x3c)),
};

/** A full checkpoint as a PyTorch program would have it; with floats, which weights_only refuses before 2.0. */
const full = (weights: FileTensors, lr: number) => ({
  model: weights,
  optimizer: {
    state: new Map([[0, { step: of("F32", Float32Array.of(3)), exp_avg: weights["0.weight"]! }]]),
    param_groups: [{ lr, betas: [0.9, 0.999], params: [0] }],
  },
  epoch: 3,
  seed: 2n ** 63n,
  note: "grüße",
  best: null,
  done: false,
});

/** Damaged files with our verdict on each, for a comparison with the reference implementation: length, verdict, bytes. */
function verdicts(count: number): Buffer {
  const seed = encodeSafetensors({ a: of("F32", Float32Array.of(1, 2)), b: of("BF16", Uint16Array.of(1)) }, { k: "v" });
  const tokens = Buffer.from('0123456789-.eE[]{}",: \\ntrufals');
  const parts: Uint8Array[] = [];
  for (let i = 0; i < count; i++) {
    const rng = new Rng(5, i);
    let bytes: Uint8Array = Uint8Array.from(seed);
    for (let changes = 1 + rng.int(3); changes > 0; changes--) {
      const at = rng.int(bytes.length);
      const kind = rng.int(4);
      if (kind === 0) bytes[at] = rng.int(256);
      else if (kind === 1) bytes[at] = tokens[rng.int(tokens.length)]!;
      else if (kind === 2) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + rng.int(3))]);
      else
        bytes = Buffer.concat([
          bytes.subarray(0, at),
          tokens.subarray(rng.int(20), 20 + rng.int(3)),
          bytes.subarray(at),
        ]);
      // The header's length follows half of the time, or little damage would get past it. The data is ten bytes.
      if (rng.int(2) === 0 && bytes.length > 18)
        new DataView(bytes.buffer, bytes.byteOffset).setUint32(0, bytes.length - 18, true);
    }
    let accepted = 1;
    try {
      decodeSafetensors(bytes, "case");
    } catch {
      accepted = 0;
    }
    const head = Buffer.alloc(5);
    head.writeUInt32LE(bytes.length);
    head[4] = accepted;
    parts.push(head, bytes);
  }
  return Buffer.concat(parts);
}

/** Everything that formats-torch.py reads. */
export async function writeOurs(folder: string, cases = 0): Promise<void> {
  const ours = join(folder, "ours");
  mkdirSync(ours, { recursive: true });
  const write = (name: string, bytes: Uint8Array | string): void => writeFileSync(join(ours, name), bytes);
  const expected: Record<string, object> = {};
  for (const [name, model] of Object.entries(models)) {
    const weights = weightsOf(model);
    const tensors = fromHostArrays(weights);
    write(`${name}.pt`, encodePt(tensors));
    write(`${name}.safetensors`, encodeSafetensors(tensors, { format: "pt" }));
    const { data, shape } = model.input;
    expected[name] = { input: { data: [...data], shape }, outputs: await outputsOf(model, weights) };
    if (name === "mlp") {
      write("full.pt", encodePt(full(tensors, 0.001)));
      write(
        "full-without-floats.pt",
        encodePt({ model: tensors, epoch: 3, done: false, note: "grüße", best: null, steps: [1, 70_000, -5] }),
      );
    }
  }
  write("types.pt", encodePt(types));
  write("types.safetensors", encodeSafetensors(types));
  write("new-types.pt", encodePt(newTypes));
  write("new-types.safetensors", encodeSafetensors(newTypes));
  write("expected.json", JSON.stringify(expected));
  if (cases > 0) write("verdicts.bin", verdicts(cases));
}

const [, script, folder, cases] = process.argv;
if (script?.endsWith("formats-write.ts") && folder) await writeOurs(folder, Number(cases ?? 0));
