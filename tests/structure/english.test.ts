// Plain technical English wherever a person reads: pages, comments, errors, help.
import { expect, test } from "vitest";
import { findDialect, writtenFiles } from "./dialect.ts";

test("no phrase of the old dialect in pages, comments and messages", () => {
  const files = writtenFiles();
  expect(files).toContain("README.md");
  expect(files).toContain("src/core/loop/loop.ts");
  expect(findDialect(files).map(({ file, line, text, instead }) => `${file}:${line}: ${text} [${instead}]`)).toEqual(
    [],
  );
});
