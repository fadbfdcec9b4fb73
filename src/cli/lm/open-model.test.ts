// Folders that are no language model are errors of the user's input, without a stack.
import { mkdirSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { HooklineError } from "../../core/errors.ts";
import { tempDir } from "../../../tests/support/temp-dir.ts";
import { openModel } from "./open-model.ts";

test.each([
  ["{", "it is not JSON"],
  ["null", "it holds no JSON object"],
  ["{}", "does not name the model that the adapter is for"],
  ['{"base_model_name_or_path":""}', "does not name the model that the adapter is for"],
  ['{"base_model_name_or_path":"org/gone"}', "is for org/gone, which is not there"],
])("an adapter_config.json of %s", async (text, message) => {
  const dir = tempDir();
  mkdirSync(`${dir}/adapter`);
  writeFileSync(`${dir}/adapter/adapter_config.json`, text);
  const error: unknown = await openModel(`${dir}/adapter`, { checkpoint: "best" }).catch((each: unknown) => each);
  expect(error).toBeInstanceOf(HooklineError);
  expect((error as Error).message).toContain(message);
});
