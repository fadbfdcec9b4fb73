// W&B's service as its own client uses it: GraphQL for the run, and a file stream that counts lines and so keeps none twice.
import { faultyServer, type Answer, type Call, type FaultyServer } from "../loggers/queue-faults.ts";

interface WandbRun {
  readonly id: string;
  displayName: string;
  tags: readonly string[];
  config: Record<string, { value: unknown }>;
  /** Lines as text, by file. */
  readonly files: Map<string, string[]>;
  /** What was uploaded, by path. */
  readonly uploads: Map<string, Uint8Array>;
  /** "running" until a stream is complete. */
  state: string;
  exitCode: number | undefined;
  heartbeats: number;
}

export interface WandbServer extends FaultyServer {
  readonly runs: ReadonlyMap<string, WandbRun>;
  /** What was wrong with requests, in words. */
  readonly problems: readonly string[];
  apiKey: string;
}

type Variables = Record<string, string> & { readonly tags?: readonly string[] };
interface Stream {
  readonly files?: Readonly<Record<string, { readonly offset: number; readonly content: readonly string[] }>>;
  readonly complete?: boolean;
  readonly exitcode?: number;
}

const ENTITY = "ann";
const KNOWN_FILES = ["wandb-history.jsonl", "wandb-events.jsonl", "wandb-summary.json"];

/** JSON with NaN and Infinity in it. */
export const parseExtended = (line: string): Record<string, unknown> =>
  JSON.parse(line.replace(/:(NaN|-?Infinity)(?=[,}])/g, ':"$1"')) as Record<string, unknown>;

export async function wandbServer(port = 0): Promise<WandbServer> {
  const runs = new Map<string, WandbRun>();
  const problems: string[] = [];

  function upsert({ name, project, entity, displayName, config, tags }: Variables): object {
    if (!name || !project || !config) throw new Error("upsertBucket: a field is missing");
    const known = runs.get(name);
    const run: WandbRun = known ?? {
      id: name,
      displayName: "",
      tags: [],
      config: {},
      files: new Map(),
      uploads: new Map(),
      state: "",
      exitCode: undefined,
      heartbeats: 0,
    };
    const parsed = JSON.parse(config) as WandbRun["config"];
    if (Object.values(parsed).some((item) => !("value" in item))) throw new Error("config: an item has no value");
    Object.assign(run, { displayName, tags, config: parsed, state: "running" });
    runs.set(name, run);
    const { length } = run.files.get(KNOWN_FILES[0]!) ?? [];
    const where = { name: project, entity: { name: entity ?? ENTITY } };
    const bucket = { id: `id-${name}`, name, displayName, config, project: where, historyLineCount: length };
    return { upsertBucket: { bucket, inserted: known === undefined } };
  }

  function resumeStatus({ name }: Variables): object {
    const run = runs.get(name!);
    if (!run) return { model: { bucket: null } };
    const history = run.files.get("wandb-history.jsonl") ?? [];
    const events = run.files.get("wandb-events.jsonl") ?? [];
    return {
      model: {
        bucket: {
          historyLineCount: history.length,
          eventsLineCount: events.length,
          historyTail: JSON.stringify(history.slice(-1)),
          summaryMetrics: run.files.get("wandb-summary.json")?.[0] ?? "{}",
        },
      },
    };
  }

  /** Places to put files, signed in the way of object stores: the address is the permission. */
  function createFiles({ run, files }: Variables): object {
    const places = (files as unknown as string[]).map((name) => ({
      name,
      uploadUrl: `${server.url}/storage/${run}/${encodeURIComponent(name)}?signature=s3cr3t`,
    }));
    return { createRunFiles: { uploadHeaders: ["x-storage:a:b"], files: places } };
  }

  function putFile({ path, query, headers, body }: Call): Answer {
    const [, id, name] = /^\/storage\/([^/]+)\/(.+)$/.exec(path) ?? [];
    if (headers.authorization !== undefined) problems.push("the key went along with a file");
    if (query.get("signature") !== "s3cr3t" || headers["x-storage"] !== "a:b") return { status: 403, body: {} };
    runs.get(id!)!.uploads.set(decodeURIComponent(name!), body as Uint8Array);
    return { body: {} };
  }

  function graphql({ query, variables }: { query: string; variables: Variables }): object {
    try {
      if (/mutation UpsertBucket/.test(query)) return { data: upsert(variables) };
      if (/mutation CreateRunFiles/.test(query)) return { data: createFiles(variables) };
      if (/query RunResumeStatus/.test(query)) return { data: resumeStatus(variables) };
      throw new Error("unknown query");
    } catch (error) {
      problems.push(String(error));
      return { errors: [{ message: (error as Error).message }] };
    }
  }

  function stream(run: WandbRun, body: Stream): void {
    if (Object.keys(body).length === 0) run.heartbeats++;
    for (const [name, { offset, content }] of Object.entries(body.files ?? {})) {
      const lines = run.files.get(name) ?? [];
      run.files.set(name, lines);
      if (!KNOWN_FILES.includes(name)) problems.push(`unknown file ${name}`);
      if (!Number.isSafeInteger(offset) || offset < 0 || offset > lines.length)
        problems.push(`${name}: offset ${offset} of ${lines.length}`);
      if (content.length === 0) problems.push(`${name}: nothing in it`);
      for (const [i, line] of content.entries()) {
        const at = offset + i;
        const parsed = parseExtended(line);
        if (
          name.endsWith("history.jsonl") &&
          ["_step", "_runtime", "_timestamp"].some((key) => typeof parsed[key] !== "number")
        )
          problems.push(`a line of history lacks a field: ${line}`);
        if (line.includes("\n")) problems.push("a line has two lines in it");
        // The same place again must be the same line: a client that says otherwise has lost count.
        if (name !== "wandb-summary.json" && lines[at] !== undefined && lines[at] !== line)
          problems.push(`${name}: line ${at} came twice, and differs`);
        lines[at] = line;
      }
    }
    if (body.complete)
      Object.assign(run, { state: body.exitcode === 0 ? "finished" : "failed", exitCode: body.exitcode });
  }

  function apply(call: Call): Answer {
    if (call.method === "PUT") return putFile(call);
    if (call.headers.authorization !== `Basic ${btoa(`api:${server.apiKey}`)}`) {
      // As careless servers do: the answer quotes what it was given.
      return { status: 401, body: { message: `bad key: ${call.headers.authorization}` } };
    }
    if (call.path === "/graphql") return { body: graphql(call.body as { query: string; variables: Variables }) };
    const [, , , id] = /^\/files\/([^/]+)\/([^/]+)\/([^/]+)\/file_stream$/.exec(call.path) ?? [];
    const run = runs.get(decodeURIComponent(id ?? ""));
    if (!run) return { status: 404, body: { message: "no such run" } };
    stream(run, call.body as Stream);
    return { body: { exitcode: null, limits: {} } };
  }

  const faulty = await faultyServer(port);
  faulty.apply = apply;
  const server: WandbServer = Object.assign(faulty, { runs, problems, apiKey: "k".repeat(40) });
  return server;
}
