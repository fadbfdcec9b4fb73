import { expect, test } from "vitest";
import { safeLine, safeText } from "./safe-text.ts";

test.each([
  ["a colour", "\u001B[31mred", "\\u001b[31mred"],
  ["a title", "\u001B]0;owned\u0007", "\\u001b]0;owned\\u0007"],
  ["a control sequence of one character", "\u009B2J", "\\u009b2J"],
  ["a return to the line's start", "safe\rgone", "safe\\u000dgone"],
  ["backspaces and deletes", "a\b\u007F", "a\\u0008\\u007f"],
  ["text from right to left", "\u202Egnp.exe\u2066x\u2069", "\\u202egnp.exe\\u2066x\\u2069"],
  ["marks that cannot be seen", "a\u200Bb\uFEFF\u{E0041}", "a\\u200bb\\ufeff\\udb40\\udc41"],
  ["line ends of other kinds", "a\u2028b\u0085", "a\\u2028b\\u0085"],
])("%s is shown, not obeyed", (_, text, shown) => {
  expect(safeText(text)).toBe(shown);
  expect(safeText(shown)).toBe(shown);
});

test.each(["plain", "größer ≥ 1 …", "日本語", "👩‍🚀 नमस्ते می‌خواهم", "two\nlines\r\nand\ttabs"])(
  "%j stays as it is",
  (text) => expect(safeText(text)).toBe(text),
);

test("a JSON document stays the same document", () => {
  const value = { "a\u009B\u202E\\": "\u001B\\\u009B", "\u{E0041}": "\n" };
  const shown = safeText(JSON.stringify(value));
  expect(shown).toMatch(/^[ -~]*$/);
  expect(JSON.parse(shown)).toEqual(value);
});

test("a line is one line", () => {
  expect(safeLine("one \r\n\ttwo\u001B[2J")).toBe("one two\\u001b[2J");
});
