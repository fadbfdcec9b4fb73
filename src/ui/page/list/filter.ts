// The filter of the list: words, and conditions such as `status:running lr<1e-3 val/loss<0.4`.
import type { RunRow } from "../../wire.ts";

export interface Filter {
  readonly matches: (row: RunRow) => boolean;
  /** A condition that no run could ever meet, in words. */
  readonly problem?: string;
}

const CONDITION = /^([^<>=:]+)(<=|>=|<|>|=|:)(.*)$/;

export function parseFilter(text: string): Filter {
  const terms = text.trim().split(/\s+/).filter(Boolean);
  const checks: ((row: RunRow) => boolean)[] = [];
  let problem: string | undefined;
  for (const term of terms) {
    const [, name, sign, right] = CONDITION.exec(term) ?? [];
    if (name === undefined || right === undefined || right === "") {
      const word = term.toLowerCase();
      checks.push((row) => row.name.toLowerCase().includes(word));
    } else if (sign === ":" || sign === "=") {
      const wanted = right.toLowerCase();
      checks.push((row) => same(valueOf(row, name), wanted, sign === ":"));
    } else {
      const limit = Number(right);
      if (Number.isNaN(limit)) problem = `${term}: “${right}” is no number`;
      checks.push((row) => compare(valueOf(row, name), sign!, limit));
    }
  }
  return { matches: (row) => checks.every((check) => check(row)), ...(problem !== undefined && { problem }) };
}

/** A condition names a field of the run, a hyperparameter or a metric (its best value). */
export function valueOf(row: RunRow, name: string): string | number | boolean | null | undefined {
  switch (name) {
    case "status":
    case "state":
      return row.state;
    case "name":
      return row.name;
    case "engine":
      return row.engine;
    case "step":
      return row.step;
    case "elapsed":
    case "time":
      return row.elapsed;
    default:
      return row.hparams[name] ?? row.best[name]?.value;
  }
}

function same(value: ReturnType<typeof valueOf>, wanted: string, part: boolean): boolean {
  if (value === undefined || value === null) return wanted === "null";
  if (typeof value === "number") return value === Number(wanted);
  const text = String(value).toLowerCase();
  return part ? text.includes(wanted) : text === wanted;
}

function compare(value: ReturnType<typeof valueOf>, sign: string, limit: number): boolean {
  if (typeof value !== "number") return false;
  switch (sign) {
    case "<":
      return value < limit;
    case "<=":
      return value <= limit;
    case ">":
      return value > limit;
    default:
      return value >= limit;
  }
}
