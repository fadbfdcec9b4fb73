// Tokens as text: whole characters, the spaces of the tokenizer, and stop texts across tokens.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { filesOf, TOKENIZERS } from "../../../tests/lm/text/tokenizer-fixtures.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import { TextStream } from "./text-stream.ts";

const TEXTS = [
  "The parcel is late — where is it?",
  "naïve café, 東京タワー",
  "👩‍👩‍👧 family 🏳️‍🌈 and 🤷🏽",
  "  two  spaces\n\ttabs",
];

test.each(Object.keys(TOKENIZERS))("%s: pieces are whole characters, and together the text", async (name) => {
  const tokenizer = await loadTokenizer(filesOf(name));
  const prompt = tokenizer.encode("Say it:");
  for (const text of TEXTS) {
    // As the tokenizer itself reads and writes it behind the prompt.
    const all = tokenizer.encode(`Say it: ${text}`);
    const whole = tokenizer.decode(all, { skipSpecialTokens: true });
    const at = prompt.findIndex((id, i) => id !== all[i]);
    const shared = at < 0 ? prompt.length : at;
    const stream = new TextStream(tokenizer, all.subarray(0, shared));
    const pieces = [...all.subarray(shared)].map((id) => stream.push(id));
    const known = tokenizer.decode(all.subarray(0, shared), { skipSpecialTokens: true });
    expect(known + pieces.join("") + stream.end()).toBe(whole);
    if (!whole.includes("\uFFFD")) expect(pieces.join("")).not.toContain("\uFFFD");
  }
});

/** Each character is a token. */
const letters = {
  decode: (ids: ArrayLike<number>) => String.fromCharCode(...Array.from(ids)),
} as Parameters<typeof makeStream>[0];
const makeStream = (tokenizer: ConstructorParameters<typeof TextStream>[0], stops: readonly string[]) =>
  new TextStream(tokenizer, [], stops);

test.each([
  ["one and two STOP three", ["STOP"], "one and two "],
  ["a user: b", ["\n", "user:"], "a "],
  ["aab aaab", ["aaab"], "aab "],
  ["nothing STO", ["STOP"], "nothing STO"],
  ["first <b then <a", ["<a", "<b"], "first "],
])("%j with the stops %j is %j", (text, stops, expected) => {
  const stream = makeStream(letters, stops);
  let shown = "";
  for (const letter of text) {
    shown += stream.push(letter.charCodeAt(0));
    // What may become a stop text is held back.
    for (const stop of stops) expect(shown).not.toContain(stop);
    expect(expected.startsWith(shown)).toBe(true);
  }
  expect(shown + stream.end()).toBe(expected);
  expect(stream.stopped).toBe(expected !== text);
});

test("bytes that are no text do not stop the stream", async () => {
  const tokenizer = await loadTokenizer(filesOf("byte-level"));
  const vocabulary = (
    JSON.parse(readFileSync(TOKENIZERS["byte-level"]!, "utf8")) as { model: { vocab: Record<string, number> } }
  ).model.vocab;
  // The first byte of a character of two bytes, many times.
  const id = vocabulary["Ã"]!;
  const stream = new TextStream(tokenizer, []);
  const pieces = Array.from({ length: 12 }, () => stream.push(id));
  expect(pieces.filter((piece) => piece !== "").length).toBeGreaterThan(1);
  expect(pieces.join("") + stream.end()).toMatch(/^\uFFFD+$/);
});
