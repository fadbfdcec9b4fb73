// The text of `--set`: `path=value`. Dots part the path; a backslash makes the next character one of a key.
import { ConfigError, type Position } from "./config-error.ts";
import { checkKey } from "./keys.ts";

interface Setting {
  readonly path: readonly string[];
  readonly value: string;
}

export function parseSetting(text: string, at: Position): Setting {
  const path: string[] = [];
  let key = "";
  let i = 0;
  for (; i < text.length && text[i] !== "="; i++) {
    if (text[i] === "\\") key += text[++i] ?? "";
    else if (text[i] !== ".") key += text[i];
    else {
      path.push(key);
      key = "";
    }
  }
  path.push(key);
  if (i >= text.length) throw new ConfigError("Expected `path=value`, as in `optimizer.lr=1e-3`.", [], at);
  path.forEach((name, depth) => checkKey(name, path.slice(0, depth + 1), at));
  if (path.includes("")) throw new ConfigError("A part of the path is empty.", path, at);
  if (path[0] === "extends")
    throw new ConfigError("`extends` is of a file: it cannot be set. Name another config instead.", path, at);
  return { path, value: text.slice(i + 1) };
}
