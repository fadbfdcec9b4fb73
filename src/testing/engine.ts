// Which engine tests train on.
import { checkEngine, type EngineName } from "../engines/select.ts";

/**
 * `wasm`, the same everywhere, unless the environment variable HOOKLINE_TEST_ENGINE names another: so one run of the
 * tests can show that they hold on another engine too.
 */
export function testEngine(): EngineName {
  const { process } = globalThis as { process?: { readonly env?: Readonly<Record<string, string | undefined>> } };
  const name = process?.env?.HOOKLINE_TEST_ENGINE ?? "wasm";
  checkEngine(name);
  return name as EngineName;
}
