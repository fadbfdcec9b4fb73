// The addresses below /api/v1/ and what answers them. Tests walk this list: an address that is not here does not exist.
import { hostname, userInfo } from "node:os";
import type { ServerResponse } from "node:http";
import { OptionError } from "../../core/errors.ts";
import { SERIES_TYPE } from "../series.ts";
import type { RunPage, ServerHello } from "../wire.ts";
import { type Answer, badRequest, bytes, gone, json } from "./answer.ts";
import { listCheckpoints, verifyCheckpoint } from "./checkpoints.ts";
import { curvesOf, heatOf } from "./curve-requests.ts";
import { eventsAfter } from "./events.ts";
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

/** Undefined when the answer is a stream. */
type Handler = (call: Call) => Promise<Answer | undefined> | Answer | undefined;

export const ROUTES: Readonly<Record<string, { readonly GET?: Handler; readonly POST?: Handler }>> = {
  hello: { GET: ({ site }) => json(helloOf(site)) },
  link: { POST: ({ site }) => json({ url: site.newLink() }) },
  runs: { GET: listRuns },
  "runs/:id": { GET: showRun },
  series: {
    POST: async ({ site, body }) => {
      const curves = checked(() => curvesOf(site.index, body));
      return bytes(await site.reader.ask({ kind: "series", curves }), SERIES_TYPE);
    },
  },
  heat: {
    POST: async ({ site, body }) => {
      const request = checked(() => heatOf(site.index, body));
      return bytes(await site.reader.ask({ kind: "heat", ...request }), SERIES_TYPE);
    },
  },
  "runs/:id/events": {
    GET: async (call) => json(await eventsAfter(runOf(call).dir, wholeParam(call, "after"))),
  },
  "runs/:id/checkpoints": {
    GET: async (call) => {
      const { dir } = runOf(call);
      const name = call.query.get("verify");
      return json(name === null ? await listCheckpoints(dir) : [await verifyCheckpoint(dir, name)]);
    },
  },
  stream: {
    GET: ({ site, query, response }) => {
      site.streams.open(response, new Set((query.get("show") ?? "").split(",").filter(Boolean)));
      return undefined;
    },
  },
};

/** The handlers of an address, and the parts that they name. */
export function findRoute(
  path: string,
): { readonly name: string; readonly params: Record<string, string> } | undefined {
  const parts = path.split("/");
  for (const name of Object.keys(ROUTES)) {
    const names = name.split("/");
    if (names.length !== parts.length) continue;
    const params: Record<string, string> = {};
    const isMatch = names.every((part, i) => {
      if (!part.startsWith(":")) return part === parts[i];
      params[part.slice(1)] = parts[i]!;
      return /^[\w-]{1,64}$/.test(parts[i]!);
    });
    if (isMatch) return { name, params };
  }
  return undefined;
}

const helloOf = ({ version, shownRoot, readOnly }: Site): ServerHello => ({
  version,
  root: shownRoot,
  host: hostname(),
  user: userInfo().username,
  readOnly,
});

/** How old the list may be, in milliseconds. */
const LIST_AGE = 1000;

async function listRuns(call: Call): Promise<Answer> {
  const { index } = call.site;
  await index.scan(LIST_AGE);
  return json(index.answer(call.query.has("since") ? wholeParam(call, "since") : undefined));
}

async function showRun(call: Call): Promise<Answer> {
  const { site } = call;
  await site.index.scan(LIST_AGE);
  const { dir, row, known } = runOf(call);
  const contents = await site.reader.ask({ kind: "contents", dir });
  const page: RunPage = { row, info: known.info, control: known.hello ?? null, ...contents };
  return json(page);
}

export function runOf({ site, params }: Call): IndexedRun {
  const found = site.index.find(params["id"]!);
  if (!found) throw gone("run of this id");
  return found;
}

/** A whole number in the query; 0 without it. */
export function wholeParam({ query }: Call, name: string): number {
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
