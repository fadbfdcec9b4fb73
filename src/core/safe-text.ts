// Text from outside (names, reasons, keys and tensors of files) as it may be shown: what could steer a terminal, reverse a
// line or hide in it becomes a visible escape. The escapes are those of JSON, so a JSON document stays the same document.

/** Control characters but tabs and line ends, and format characters but the joiners that letters and emoji need. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const UNSAFE = /\r(?!\n)|[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u2028\u2029]|[^\P{Cf}\u200C\u200D]/gu;

/** Most texts by far have nothing else. */
const PLAIN = /^[ -~\n]*$/;

const escapeAll = (characters: string): string =>
  Array.from({ length: characters.length }, (_, i) => characters.charCodeAt(i))
    .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
    .join("");

/** Keeps lines and tabs. */
export const safeText = (text: string): string => (PLAIN.test(text) ? text : text.replace(UNSAFE, escapeAll));

/** On one line: for a name, a cell, or a reason within a sentence. */
export const safeLine = (text: string): string => safeText(text.replace(/\s*[\r\n\t]\s*/g, " "));
