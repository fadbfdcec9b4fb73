// The models and the data of the tests of training: smooth ones, whose losses do not drift apart by rounding alone.
import type { HostArray, Tensor, TrainerOptions } from "hookline";
import { Rng } from "hookline/data";
import { batchNorm, block, crossEntropy, embedding, gelu, layerNorm, linear, mse } from "hookline/nn";
import { accuracy, multiHeadAttention, perplexity, residual, sequential, tanh } from "hookline/nn";
import type { Scene } from "./scene.ts";

type Problem = Pick<TrainerOptions, "model" | "loss" | "metrics"> & { readonly data: Record<"x" | "y", HostArray> };

const FEATURES = 8;
const LETTERS = 12;
const CONTEXT = 8;
const WIDTH = 16;

export function problemOf(model: NonNullable<Scene["model"]>, samples: number): Problem {
  if (model === "gpt") return { model: gpt(), loss: crossEntropy(), data: letters(samples) };
  if (model === "masked") {
    const metrics = { accuracy: accuracy(), perplexity: perplexity() };
    return { model: gpt(), loss: crossEntropy(), metrics, data: masked(letters(samples)) };
  }
  const norm = model === "norm" ? [batchNorm(WIDTH)] : [];
  return {
    model: sequential(linear(FEATURES, WIDTH), ...norm, tanh(), linear(WIDTH, 3)),
    ...(model === "norm" ? { loss: mse() } : { loss: crossEntropy(), metrics: { accuracy: accuracy() } }),
    data: model === "norm" ? curves(samples) : classes(samples),
  };
}

function gpt() {
  const layer = sequential(
    residual(sequential(layerNorm(WIDTH), multiHeadAttention(WIDTH, 2, { causal: true }))),
    residual(sequential(layerNorm(WIDTH), linear(WIDTH, 2 * WIDTH), gelu(), linear(2 * WIDTH, WIDTH))),
  );
  return block(
    {
      letters: embedding(LETTERS, WIDTH),
      places: (key) => key.normal([CONTEXT, WIDTH], 0, 1),
      layer,
      head: linear(WIDTH, LETTERS),
    },
    (calls, x: Tensor) => calls.head(calls.layer(calls.letters(x).add(calls.places()))),
  );
}

function features(samples: number): { x: HostArray; row(i: number): Float32Array } {
  const rng = new Rng(3);
  const data = Float32Array.from({ length: samples * FEATURES }, () => rng.normal());
  return {
    x: { data, shape: [samples, FEATURES] },
    row: (i) => data.subarray(i * FEATURES, (i + 1) * FEATURES),
  };
}

function classes(samples: number): Problem["data"] {
  const { x, row } = features(samples);
  const y = Int32Array.from({ length: samples }, (_, i) =>
    row(i)[0]! > 0.3 ? 2 : row(i)[1]! * row(i)[2]! > 0 ? 1 : 0,
  );
  return { x, y: { data: y, shape: [samples] } };
}

function curves(samples: number): Problem["data"] {
  const { x, row } = features(samples);
  const y = Float32Array.from({ length: samples * 3 }, (_, i) => Math.sin(row(Math.floor(i / 3))[i % 3]!));
  return { x, y: { data: y, shape: [samples, 3] } };
}

/** From every letter to none counts in a row. */
function masked({ x, y }: Problem["data"]): Problem["data"] {
  const counts = (i: number): boolean => i % CONTEXT < (Math.floor(i / CONTEXT) * 5) % (CONTEXT + 1);
  return { x, y: { data: Int32Array.from(y.data, (letter, i) => (counts(i) ? letter : -100)), shape: y.shape } };
}

/** Rows in which each letter follows from the two before it. */
function letters(samples: number): Problem["data"] {
  const rng = new Rng(5);
  const x = new Int32Array(samples * CONTEXT);
  const y = new Int32Array(samples * CONTEXT);
  for (let i = 0; i < samples; i++) {
    let [a, b] = [rng.int(LETTERS), rng.int(LETTERS)];
    for (let t = 0; t < CONTEXT; t++) {
      x[i * CONTEXT + t] = b;
      [a, b] = [b, (a + 2 * b + 1) % LETTERS];
      y[i * CONTEXT + t] = b;
    }
  }
  return { x: { data: x, shape: [samples, CONTEXT] }, y: { data: y, shape: [samples, CONTEXT] } };
}
