// The text of a config file: read with a limit on its size, checked to be text, and offsets in it as lines and columns.
import { builtin } from "../../platform/builtin.ts";
import { ConfigError, type Position } from "./config-error.ts";
import type { Fail } from "./fail.ts";
import { didYouMeanFile } from "./nearest-file.ts";
import type { Source } from "./tree.ts";

type Files = ReturnType<typeof process.getBuiltinModule<"node:fs/promises">>;
type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;

/** Ten times what a person writes; of the worst that can be written, a parser makes a second for this much. */
const LARGEST = 256_000;

/** Offsets as positions: lines end with \n, \r\n or \r, columns count UTF-16 units as editors' links do. */
function positions(file: string, text: string): (offset: number) => Position {
  const starts = [0];
  for (const { 0: end, index } of text.matchAll(/\r\n|\n|\r/g)) starts.push(index + end.length);
  return (offset) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { file, line: low + 1, column: offset - starts[low]! + 1 };
  };
}

/** Where bytes that are no UTF-8 begin: everything before reads the same as it was written. */
function firstBadOffset(text: string, bytes: Uint8Array): number {
  const encoder = new TextEncoder();
  let at = text.indexOf("\uFFFD");
  for (; at !== -1; at = text.indexOf("\uFFFD", at + 1)) {
    const byte = encoder.encode(text.slice(0, at)).length;
    if (bytes[byte] !== 0xef || bytes[byte + 1] !== 0xbf || bytes[byte + 2] !== 0xbd) return at;
  }
  return 0;
}

/** @param file as it is shown */
function sourceOf(bytes: Uint8Array, file: string, directory: string): Source {
  const bom = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  const content = bytes.subarray(bom);
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(content);
  const at = positions(file, text);
  const source = { text, directory, at };
  if (/^[\uFFFD]{2}/.test(text) && (bytes[0]! ^ bytes[1]!) === 1)
    throw new ConfigError("The file is UTF-16. Save it as UTF-8.", [], at(0));
  if (text.includes("\uFFFD") && new TextEncoder().encode(text).length !== content.length)
    throw new ConfigError("The file is not UTF-8 text.", [], at(firstBadOffset(text, content)));
  // oxlint-disable-next-line no-control-regex -- finding them is the purpose
  const control = text.search(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/);
  if (control !== -1)
    throw new ConfigError(
      `There is a control character (U+${text.codePointAt(control)!.toString(16).padStart(4, "0").toUpperCase()}), which no config has.`,
      [],
      at(control),
    );
  return source;
}

/** @param path absolute; `fail` makes the error for a file that cannot be read */
export async function readSource(path: string, file: string, fail: Fail): Promise<Source> {
  const { readFile, stat, readdir } = builtin<Files>("A config", "node:fs/promises");
  const { basename, dirname } = builtin<Paths>("A config", "node:path");
  const directory = dirname(path);
  try {
    const stats = await stat(path);
    if (!stats.isFile()) throw fail(`${file} is ${stats.isDirectory() ? "a directory" : "no regular file"}.`);
    if (stats.size > LARGEST)
      throw new ConfigError(
        `The file has ${Math.ceil(stats.size / 1000)} kB; a config may have ${LARGEST / 1000}. Keep data in files of its own.`,
        [],
        { file, line: 1, column: 1 },
      );
    return sourceOf(await readFile(path), file, directory);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { code } = error as { code?: string };
    if (code !== "ENOENT" && code !== "ENOTDIR")
      throw fail(`${file} cannot be read: ${(error as Error).message}`, error);
    const names = await readdir(directory).catch(() => []);
    throw fail(`There is no file ${file}.${didYouMeanFile(basename(path), names)}`);
  }
}
