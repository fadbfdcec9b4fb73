import { expect, test } from "vitest";
import { canRedraw, isQuiet, surroundings, wantsColor, wantsUnicode, type Surroundings } from "./style.ts";

const around = (env: Surroundings["env"], more: Partial<Surroundings> = {}): Surroundings => ({
  env,
  argv: ["node", "train.js"],
  platform: "linux",
  isTTY: true,
  ...more,
});

test("a line is drawn again on a terminal only, and not in CI", () => {
  expect(canRedraw(around({}))).toBe(true);
  expect(canRedraw(around({ CI: "false" }))).toBe(true);
  expect(canRedraw(around({ CI: "true" }))).toBe(false);
  expect(canRedraw(around({ TERM: "dumb" }))).toBe(false);
  expect(canRedraw(around({}, { isTTY: false }))).toBe(false);
});

test("colours: NO_COLOR takes them away, FORCE_COLOR brings them back", () => {
  expect(wantsColor(around({}))).toBe(true);
  expect(wantsColor(around({ NO_COLOR: "" }))).toBe(true);
  expect(wantsColor(around({ NO_COLOR: "1" }))).toBe(false);
  expect(wantsColor(around({ NO_COLOR: "1", FORCE_COLOR: "1" }))).toBe(true);
  expect(wantsColor(around({ FORCE_COLOR: "0" }))).toBe(false);
  expect(wantsColor(around({}, { isTTY: false }))).toBe(false);
  expect(wantsColor(around({ FORCE_COLOR: "" }, { isTTY: false }))).toBe(true);
  expect(wantsColor(around({ CI: "1" }))).toBe(false);
});

test("Unicode by the locale, where the terminal has the glyphs", () => {
  expect(wantsUnicode(around({ LANG: "de_DE.UTF-8" }))).toBe(true);
  expect(wantsUnicode(around({ LANG: "C.utf8" }))).toBe(true);
  expect(wantsUnicode(around({ LANG: "en_US.UTF-8", LC_ALL: "C" }))).toBe(false);
  expect(wantsUnicode(around({}))).toBe(false);
  expect(wantsUnicode(around({ LANG: "en_US.UTF-8", TERM: "linux" }))).toBe(false);
  expect(wantsUnicode(around({}, { platform: "win32" }))).toBe(false);
  expect(wantsUnicode(around({ WT_SESSION: "1" }, { platform: "win32" }))).toBe(true);
});

test("silence, by a variable or on the command line", () => {
  expect(isQuiet(around({}))).toBe(false);
  expect(isQuiet(around({ HOOKLINE_QUIET: "1" }))).toBe(true);
  expect(isQuiet(around({ HOOKLINE_QUIET: "0" }))).toBe(false);
  expect(isQuiet(around({}, { argv: ["node", "train.js", "--quiet"] }))).toBe(true);
});

test("here they are those of this process", () => {
  expect(surroundings()).toMatchObject({ env: process.env, platform: process.platform });
});
