// Sends queued records to W&B: the run by GraphQL, its lines by the file stream, whose offsets prevent duplicates.
import type { Json } from "../../core/options.ts";
import type { Chunk } from "../remote/memory-queue.ts";
import { remoteBackend, type RemoteSettings } from "../remote/remote-backend.ts";
import { type EndLine, type Latest, type LoggedLine, Seen, parseLine } from "../remote/record-lines.ts";
import type { Courier } from "../remote/sender.ts";
import { ServiceError, type Service } from "../remote/service.ts";
import type { MakeBackend } from "../threaded-backend.ts";
import { type ImageFile, exitCodeOf, imagesOf, objectJson, rowOf, systemJson } from "./rows.ts";

/** The run that queued lines belong to. */
export interface WandbHead {
  /** New each time that the run is started or resumed. */
  readonly part: string;
  readonly id: string;
  readonly name: string;
  readonly project: string;
  /** "": the owner of the key. */
  readonly entity: string;
  readonly tags: readonly string[];
  readonly resumed: boolean;
  readonly config: Readonly<Record<string, Json>>;
}

interface State {
  /** The service that the counts belong to. */
  target: string;
  part: string;
  id: string;
  /** The service's names. */
  entity: string;
  project: string;
  /** Lines that the service has. */
  history: number;
  events: number;
  /** Values as JSON text. */
  summary: Record<string, string>;
  /** The last step that the service has from earlier processes. */
  lastStep: number;
  seen: Latest;
}

const HISTORY = "wandb-history.jsonl";
const EVENTS = "wandb-events.jsonl";
const SUMMARY = "wandb-summary.json";

export const wandbSender: MakeBackend<RemoteSettings> = (settings, warn) =>
  remoteBackend(settings, warn, { media: true, courier: (...args) => new WandbCourier(...args) });

class WandbCourier implements Courier {
  readonly #service: Service;
  readonly #warn: (message: string) => void;
  /** Files of the current chunk that have been uploaded: a retry need not send them again. */
  readonly #uploaded = new Set<string>();
  #saidImages = false;
  #state: Omit<State, "seen">;
  #seen: Seen;

  constructor(service: Service, stored: Json | undefined, warn: (message: string) => void) {
    this.#service = service;
    this.#warn = warn;
    const { seen, ...known } = (stored ?? {}) as unknown as Partial<State>;
    const same = known.target === service.target;
    this.#state = { ...this.#fresh(), ...(same && known) };
    this.#seen = new Seen(same ? seen : undefined);
  }

  get state(): Json {
    return { ...this.#state, seen: this.#seen.toJSON() };
  }

  async send({ head, lines }: Chunk, signal: AbortSignal): Promise<void> {
    const run = head as unknown as WandbHead;
    if (this.#state.part !== run.part) await this.#begin(run, signal);
    const parsed = lines.map(parseLine);
    const logged = parsed.filter((line) => line?.kind === "log");
    const end = parsed.findLast((line) => line?.kind === "end");
    if (logged.length > 0 || end) await this.#stream(logged, end, signal);
  }

  async beat(signal: AbortSignal): Promise<void> {
    if (this.#state.id !== "") await this.#post({}, signal);
  }

  #fresh(): Omit<State, "seen"> {
    const target = this.#service.target;
    return { target, part: "", id: "", entity: "", project: "", history: 0, events: 0, summary: {}, lastStep: -1 };
  }

  async #begin(head: WandbHead, signal: AbortSignal): Promise<void> {
    const isOther = this.#state.id !== head.id;
    const next = isOther ? this.#fresh() : { ...this.#state };
    // The queue of the earlier process is not here, but the service knows how far it came.
    if (isOther && head.resumed) Object.assign(next, await this.#status(head, signal));
    const config = Object.entries(head.config).map(([name, value]) => [name, { value }]);
    const { upsertBucket } = (await this.#query(UPSERT_BUCKET, signal, {
      name: head.id,
      project: head.project,
      entity: head.entity === "" ? null : head.entity,
      displayName: head.name,
      tags: head.tags,
      // To W&B, a run without `t` has not begun.
      config: JSON.stringify({ ...Object.fromEntries(config), _wandb: { value: { t: {} } } }),
    })) as UpsertedBucket;
    const project = upsertBucket?.bucket?.project;
    if (!project?.name || !project.entity?.name) throw new ServiceError("the answer has no project", 502, "");
    Object.assign(next, { id: head.id, part: head.part, project: project.name, entity: project.entity.name });
    this.#state = next;
    if (isOther) this.#seen = new Seen();
  }

  async #status(head: WandbHead, signal: AbortSignal): Promise<Partial<State>> {
    const variables = { project: head.project, entity: head.entity === "" ? null : head.entity, name: head.id };
    const { model } = (await this.#query(RESUME_STATUS, signal, variables)) as ResumeStatus;
    const { historyLineCount, eventsLineCount, historyTail, summaryMetrics } = model?.bucket ?? {};
    return {
      history: historyLineCount ?? 0,
      events: eventsLineCount ?? 0,
      lastStep: lastStepOf(historyTail),
      summary: Object.fromEntries(
        Object.entries(objectOf(summaryMetrics)).map(([name, value]) => [name, JSON.stringify(value)]),
      ),
    };
  }

  async #stream(logged: readonly LoggedLine[], end: EndLine | undefined, signal: AbortSignal): Promise<void> {
    const { history, events, lastStep } = this.#state;
    const fresh = logged
      .filter(({ step }) => step > lastStep)
      .map((line) => {
        const takes = (name: string): boolean => this.#seen.isNew(name, line.step);
        return { line, takes, images: imagesOf(line, takes) };
      });
    await this.#upload(
      fresh.flatMap(({ images }) => [...images.values()]),
      signal,
    );
    const rows = fresh.map(({ line, takes, images }) => {
      const image = (name: string): Json | undefined => {
        const file = images.get(name);
        return file && this.#uploaded.has(file.path) ? file.json : undefined;
      };
      return rowOf(line, { takes, image });
    });
    const lines = rows.filter((row) => row.history.length > 0).map((row) => objectJson(row.history));
    const system = rows.filter((row) => row.system.length > 0).map(systemJson);
    const summary = { ...this.#state.summary, ...Object.fromEntries(rows.flatMap((row) => row.history)) };
    if (end) summary["_wandb"] = JSON.stringify({ runtime: Math.round(end.elapsed) });
    const files = {
      ...(lines.length > 0 && { [HISTORY]: { offset: history, content: lines } }),
      ...(system.length > 0 && { [EVENTS]: { offset: events, content: system } }),
      // One line that is overwritten.
      ...((lines.length > 0 || end) && { [SUMMARY]: { offset: 0, content: [objectJson(Object.entries(summary))] } }),
    };
    const finish = end && { complete: true, exitcode: exitCodeOf(end.status) };
    if (Object.keys(files).length > 0 || end) await this.#post({ files, ...finish }, signal);
    this.#uploaded.clear();
    Object.assign(this.#state, { history: history + lines.length, events: events + system.length, summary });
    for (const { scalars, media = {}, step } of logged) {
      for (const name of [...Object.keys(scalars), ...Object.keys(media)]) this.#seen.add(name, step);
    }
  }

  /** Uploads files before the lines that refer to them. An image that the service rejects is left out of its line. */
  async #upload(images: readonly ImageFile[], signal: AbortSignal): Promise<void> {
    const missing = new Map(images.map(({ path, bytes }) => [path, bytes]));
    for (const path of this.#uploaded) missing.delete(path);
    if (missing.size === 0) return;
    const { entity, project, id: run } = this.#state;
    try {
      const files = [...missing.keys()];
      const answer = await this.#query(CREATE_RUN_FILES, signal, { entity, project, run, files });
      const { files: places = [], uploadHeaders = [] } = (answer as CreatedRunFiles).createRunFiles ?? {};
      const headers = Object.fromEntries(uploadHeaders.map((header) => header.split(/:(.*)/s).slice(0, 2)));
      for (const { name = "", uploadUrl = "" } of places) {
        if (!missing.has(name) || uploadUrl === "") continue;
        await this.#service.put(uploadUrl, headers, missing.get(name)!, signal);
        this.#uploaded.add(name);
      }
    } catch (error) {
      if (!(error instanceof ServiceError) || error.retry) throw error;
      if (!this.#saidImages) this.#warn(`images could not be sent: ${error.message}`);
      this.#saidImages = true;
    }
  }

  #post(body: object, signal: AbortSignal): Promise<unknown> {
    const { entity, project, id } = this.#state;
    const path = ["files", entity, project, id, "file_stream"].map(encodeURIComponent).join("/");
    return this.#service.call("POST", `/${path}`, body, signal);
  }

  async #query(query: string, signal: AbortSignal, variables: object): Promise<unknown> {
    let answer: { data?: unknown; errors?: readonly { message?: string }[] };
    try {
      answer = (await this.#service.call("POST", "/graphql", { query, variables }, signal)) as typeof answer;
    } catch (error) {
      // Two requests at the same time: W&B asks for a retry.
      if (error instanceof ServiceError && error.status === 409) throw new ServiceError(error.message, 503, "");
      throw error;
    }
    const [first] = answer.errors ?? [];
    if (first) throw new ServiceError(this.#service.scrub(first.message ?? "it answered with an error"), 404, "");
    return answer.data ?? {};
  }
}

function objectOf(text: string | null | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** `historyTail` is JSON of an array of JSON lines. */
function lastStepOf(tail: string | null | undefined): number {
  const last = Object.values(objectOf(tail)).at(-1);
  const step = typeof last === "string" ? objectOf(last)["_step"] : undefined;
  return typeof step === "number" ? step : -1;
}

const UPSERT_BUCKET = `
mutation UpsertBucket($name: String, $project: String, $entity: String, $displayName: String, $config: JSONString, $tags: [String!]) {
  upsertBucket(input: { name: $name, modelName: $project, entityName: $entity, displayName: $displayName, config: $config, tags: $tags }) {
    bucket { id name project { name entity { name } } historyLineCount }
    inserted
  }
}`;

interface UpsertedBucket {
  readonly upsertBucket?: {
    readonly bucket?: { readonly project?: { readonly name?: string; readonly entity?: { readonly name?: string } } };
  };
}

const RESUME_STATUS = `
query RunResumeStatus($project: String, $entity: String, $name: String!) {
  model(name: $project, entityName: $entity) {
    bucket(name: $name, missingOk: true) { historyLineCount eventsLineCount historyTail summaryMetrics }
  }
}`;

interface ResumeStatus {
  readonly model?: {
    readonly bucket?: {
      readonly historyLineCount?: number | null;
      readonly eventsLineCount?: number | null;
      readonly historyTail?: string | null;
      readonly summaryMetrics?: string | null;
    } | null;
  } | null;
}

const CREATE_RUN_FILES = `
mutation CreateRunFiles($entity: String!, $project: String!, $run: String!, $files: [String!]!) {
  createRunFiles(input: { entityName: $entity, projectName: $project, runName: $run, files: $files }) {
    uploadHeaders
    files { name uploadUrl }
  }
}`;

interface CreatedRunFiles {
  readonly createRunFiles?: {
    /** As "name:value". */
    readonly uploadHeaders?: readonly string[];
    readonly files?: readonly { readonly name?: string; readonly uploadUrl?: string }[];
  };
}
