// MLflow's limits for names and values, and how ours are made to fit.
import type { Json } from "../../core/options.ts";

export const MOST_METRICS = 1000;
export const MOST_PARAMS = 100;
/** Of a whole request, with a margin. */
export const MOST_BYTES = 900_000;
const LONGEST_NAME = 250;
export const LONGEST_TAG = 5000;
export const LONGEST_PARAM = 6000;
/** The limit of servers before 2.0. */
export const LONGEST_OLD_PARAM = 250;

/** Letters, digits, `_ - . : /` and spaces, without `.` and `..`: a server may keep metrics as files of these names. */
export function safeName(name: string): string {
  const parts = name
    .replace(/[^\p{L}\p{N}_\-. :/]/gu, "_")
    .split("/")
    .map((part) => (/^\.{1,2}$/.test(part) ? part.replaceAll(".", "_") : part))
    .filter((part) => part !== "");
  return parts.join("/").slice(0, LONGEST_NAME).replace(/\/$/, "") || "_";
}

const cut = (text: string, longest: number): string =>
  text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;

export interface Pair {
  readonly key: string;
  readonly value: string;
}

/** `{ optim: { lr: 0.1 } }` → `optim.lr`: `0.1`. */
export function paramsOf(hparams: Readonly<Record<string, Json>>, longest: number): Pair[] {
  const flat = (prefix: string, value: Json): Pair[] => {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isObject && Object.keys(value).length > 0) {
      return Object.entries(value).flatMap(([name, each]) => flat(prefix === "" ? name : `${prefix}.${name}`, each));
    }
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return [{ key: safeName(prefix), value: cut(text, longest) }];
  };
  return flat("", hparams).filter(({ key }) => key !== "_");
}

export const tagsOf = (tags: Readonly<Record<string, string>>): Pair[] =>
  Object.entries(tags).map(([key, value]) => ({ key: safeName(key), value: cut(value, LONGEST_TAG) }));
