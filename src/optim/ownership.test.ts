// Every optimizer keeps jax-js's rule: it consumes what it is given, and leaks nothing.
import { defaultDevice, init, numpy as np } from "@jax-js/jax";
import { beforeAll, expect, test } from "vitest";
import { adam, adamw, lion, rmsprop, sgd } from "./index.ts";

beforeAll(async () => {
  await init("wasm");
  defaultDevice("wasm");
});

test.each([
  ["sgd", sgd()],
  ["sgd with momentum", sgd({ momentum: 0.9 })],
  ["sgd with nesterov", sgd({ momentum: 0.9, nesterov: true })],
  ["adam", adam()],
  ["adamw", adamw()],
  ["lion", lion()],
  ["rmsprop", rmsprop()],
  ["rmsprop, centered with momentum", rmsprop({ momentum: 0.9, centered: true })],
])("%s consumes parameter, gradient and state, and leaves the scalars", (_, optimizer) => {
  const [p, g] = [np.array([1, 2]), np.array([3, 4])];
  const old = Object.fromEntries(optimizer.slots.map((name) => [name, np.zeros([2])]));
  const hyper = optimizer.hyper(optimizer.defaults, 1);
  const h = Object.fromEntries(Object.entries(hyper).map(([key, value]) => [key, np.array(value)]));
  const [next, slots] = optimizer.leaf(p, g, { ...old }, h);
  // Realised, so that no pending operation holds its inputs any longer.
  for (const array of [next, ...Object.values(slots)]) array.ref.dataSync();
  expect([p, g, ...Object.values(old)].map((array) => array.refCount)).toEqual(
    [p, g, ...Object.values(old)].map(() => 0),
  );
  expect(Object.values(h).every((scalar) => scalar.refCount === 1)).toBe(true);
  expect([next, ...Object.values(slots)].every((array) => array.refCount === 1)).toBe(true);
  expect(Object.keys(slots)).toEqual(optimizer.slots);
  for (const array of [next, ...Object.values(slots), ...Object.values(h)]) array.dispose();
});

test.each([sgd({ momentum: 0.9 }), adam(), adamw(), lion(), rmsprop({ momentum: 0 })])(
  "$name: the scalars have the same keys at every step",
  (optimizer) => {
    const keys = (t: number) => Object.keys(optimizer.hyper(optimizer.defaults, t));
    expect(keys(1)).toEqual(keys(1000));
    expect(Object.values(optimizer.hyper(optimizer.defaults, 100_000)).every(Number.isFinite)).toBe(true);
  },
);
