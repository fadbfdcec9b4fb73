// On which engines language models are tested: native where it can start, and wasm; in `npm run test:xla` xla alone.
import { testEngine } from "../../src/testing/tiny.ts";
import { HAS_NATIVE } from "../support/has-native.ts";

export type TestedEngine = "native" | "wasm" | "xla";

const tested = (): readonly [TestedEngine, ...TestedEngine[]] => {
  if (testEngine() === "xla") return ["xla"];
  return HAS_NATIVE ? ["native", "wasm"] : ["wasm"];
};

export const ENGINES = tested();
/** For tests that need one engine only. */
export const ENGINE = ENGINES[0];
