// The addresses below /api/v1/ and what answers them. Tests walk this list: an address that is not here does not exist.
import { hostname } from "node:os";
import { readHello } from "../../runs/control/read-control.ts";
import { SERIES_TYPE } from "../series.ts";
import type { LogAnswer, RunPage, ServerHello } from "../wire.ts";
import { type Answer, bytes, json, Refusal } from "./answer.ts";
import { listCheckpoints, verifyCheckpoint } from "./checkpoints.ts";
import { curvesOf, heatOf } from "./curve-requests.ts";
import { eventsAfter, textAfter } from "./events.ts";
import { imageOf } from "./media.ts";
import { listCommands, thisUser } from "./commands.ts";
import { type Call, checked, runOf, wholeParam } from "./requests.ts";
import type { Site } from "./site.ts";
import { sparksOf } from "./sparks.ts";

/** Undefined when the answer is a stream. */
type Handler = (call: Call) => Promise<Answer | undefined> | Answer | undefined;

export const ROUTES: Readonly<Record<string, { readonly GET?: Handler; readonly POST?: Handler }>> = {
  hello: { GET: ({ site }) => json(helloOf(site)) },
  link: { POST: ({ site }) => json({ url: site.newLink() }) },
  runs: { GET: listRuns },
  "runs/:id": { GET: showRun },
  sparks: { GET: ({ site, query }) => json(sparksOf(site.index, idsIn(query, "runs"))) },
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
  "runs/:id/media": {
    GET: async (call) => {
      const { dir } = runOf(call);
      const name = call.query.get("name") ?? "";
      const place = await call.site.reader.ask({ kind: "media", dir, name, step: wholeParam(call, "step") });
      return imageOf(dir, place);
    },
  },
  "runs/:id/texts": {
    GET: async (call) =>
      json(await call.site.reader.ask({ kind: "texts", dir: runOf(call).dir, name: call.query.get("name") ?? "" })),
  },
  "runs/:id/log": {
    GET: async (call) =>
      json((await textAfter(`${runOf(call).dir}/log.txt`, wholeParam(call, "after"))) satisfies LogAnswer),
  },
  studies: {
    GET: async ({ site }) => {
      await site.index.scan(LIST_AGE);
      return json(await site.studies.list(site));
    },
  },
  "studies/:id": { GET: async ({ site, params }) => json(await site.studies.page(site, params["id"]!)) },
  "studies/:id/commands": {
    GET: async ({ site, params }) => json(await listCommands(site.studies.directory(site, params["id"]!))),
    POST: ({ site, params, body }) => site.commands.send(site.studies.directory(site, params["id"]!), body),
  },
  "runs/:id/commands": {
    GET: async (call) => json(await listCommands(runOf(call).dir)),
    POST: (call) => call.site.commands.send(runOf(call).dir, call.body),
  },
  "runs/:id/commands/:cid/cancel": {
    POST: (call) => call.site.commands.cancel(runOf(call).dir, call.params["cid"]!),
  },
  stream: {
    GET: ({ site, query, response }) => {
      if (!site.streams.open(response, new Set(idsIn(query, "show"))))
        throw new Refusal(503, "busy", "Too many pages are open.");
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

const idsIn = (query: URLSearchParams, name: string): string[] => (query.get(name) ?? "").split(",").filter(Boolean);

const helloOf = ({ version, shownRoot, readOnly }: Site): ServerHello => ({
  version,
  root: shownRoot,
  host: hostname(),
  user: thisUser(),
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
  const page: RunPage = { row, info: known.info, control: readHello(dir) ?? null, ...contents };
  return json(page);
}
