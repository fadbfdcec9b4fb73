import { expect, test } from "vitest";
import { evalLoaderNames } from "./monitor.ts";

test("names of the evaluation loaders", () => {
  const loader = { next: () => undefined };
  expect(evalLoaderNames(undefined)).toEqual([]);
  expect(evalLoaderNames(loader)).toEqual(["val"]);
  expect(evalLoaderNames({ a: loader, b: loader })).toEqual(["a", "b"]);
});
