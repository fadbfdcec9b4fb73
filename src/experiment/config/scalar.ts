// A text without quotes as YAML 1.2 reads it: null, a boolean, a number, else the text.
import { ConfigError, type ConfigPath, type Position } from "./config-error.ts";

const INTEGER = /^[-+]?[0-9]+$/;

export function readScalar(text: string): string | number | boolean | null {
  if (/^(?:~|null|Null|NULL)?$/.test(text)) return null;
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  if (/^0x[0-9a-fA-F]+$|^0o[0-7]+$/.test(text)) return Number(text);
  if (/^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/.test(text)) return Number(text);
  if (/^[-+]?\.(?:inf|Inf|INF)$/.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  if (/^\.(?:nan|NaN|NAN)$/.test(text)) return Number.NaN;
  return text;
}

/** A whole number that would silently become another one: a seed or an id with too many digits. */
export function checkExact(text: string, value: number, path: ConfigPath, at: Position): void {
  if (!INTEGER.test(text)) return;
  // One of hundreds of digits is Infinity, which BigInt refuses.
  if (Number.isFinite(value) && BigInt(text.replace("+", "")) === BigInt(value)) return;
  throw new ConfigError(
    `${text.length > 40 ? `${text.slice(0, 40)}…` : text} has more digits than a number keeps: it would be ${value}. Put it in quotes if it is a name.`,
    path,
    at,
  );
}
