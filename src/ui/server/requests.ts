// What a request of the API is, and checks that several routes share.
import type { ServerResponse } from "node:http";
import { OptionError } from "../../core/errors.ts";
import { badRequest, gone } from "./answer.ts";
import type { IndexedRun } from "./run-index.ts";
import type { Site } from "./site.ts";

/** A request that has passed the gate. */
export interface Call {
  readonly site: Site;
  /** The parts of the address that a route names with a colon. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The parsed body of a POST. */
  readonly body: unknown;
  /** Only for a stream, which answers by itself. */
  readonly response: ServerResponse;
}

export function runOf({ site, params }: Pick<Call, "site" | "params">): IndexedRun {
  const found = site.index.find(params["id"]!);
  if (!found) throw gone("run of this id");
  return found;
}

/** A whole number in the query; 0 without it. */
export function wholeParam({ query }: Pick<Call, "query">, name: string): number {
  const text = query.get(name) ?? "0";
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw badRequest(`Expected \`${name}\` to be a whole number.`);
}

/** What a check of options refuses is the client's mistake. */
export function checked<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw error instanceof OptionError ? badRequest(error.message) : error;
  }
}
