// Sends queued records to an MLflow server: the run, its parameters, its metrics in batches, and how it ended.
import type { Json } from "../../core/options.ts";
import type { RunEnd } from "../../runs/types.ts";
import type { Chunk } from "../remote/memory-queue.ts";
import { type Latest, type LoggedLine, type Scalar, Seen, parseLine } from "../remote/record-lines.ts";
import { remoteBackend, type RemoteSettings } from "../remote/remote-backend.ts";
import type { Courier } from "../remote/sender.ts";
import { ServiceError, type Service } from "../remote/service.ts";
import type { MakeBackend } from "../threaded-backend.ts";
import * as names from "./names.ts";

/** The run that queued lines belong to. */
export interface MlflowHead {
  /** New each time that the run is started or resumed. */
  readonly part: string;
  readonly id: string;
  readonly name: string;
  readonly experiment: string;
  readonly startedAt: number;
  readonly tags: Readonly<Record<string, string>>;
  readonly hparams: Readonly<Record<string, Json>>;
}

interface State {
  /** The server that the ids belong to. */
  target: string;
  part: string;
  /** Ours. */
  id: string;
  /** MLflow's. */
  runId: string;
  ended: boolean;
  seen: Latest;
}

interface Metric {
  readonly key: string;
  readonly value: Scalar;
  readonly timestamp: number;
  readonly step: number;
}

interface RemoteRun {
  readonly info?: { readonly run_id?: string };
  readonly data?: { readonly metrics?: readonly { key: string; step?: number | string }[] };
}

const API = "/api/2.0/mlflow";
/** Finds a run again whose creation was answered too late or never. */
const ID_TAG = "hookline_run";
const STATUS: Readonly<Record<RunEnd["status"], string>> = {
  completed: "FINISHED",
  stopped: "FINISHED",
  interrupted: "KILLED",
  error: "FAILED",
};

export const mlflowSender: MakeBackend<RemoteSettings> = (settings, warn) =>
  remoteBackend(settings, warn, {
    media: false,
    courier: (service, state, say) => new MlflowCourier(service, state, say),
  });

class MlflowCourier implements Courier {
  readonly #service: Service;
  readonly #warn: (message: string) => void;
  readonly #state: Omit<State, "seen">;
  #seen: Seen;
  /** Ids by name, so that a retry need not look them up again. */
  readonly #experiments = new Map<string, string>();
  /** MLflow's names by ours. */
  readonly #keys = new Map<string, string>();
  /** Whether something was sent, perhaps by an earlier process, and may or may not have arrived. */
  #unsure = true;

  constructor(service: Service, stored: Json | undefined, warn: (message: string) => void) {
    this.#service = service;
    this.#warn = warn;
    const { seen, ...known } = (stored ?? {}) as unknown as Partial<State>;
    const fresh = { target: service.target, part: "", id: "", runId: "", ended: true };
    const same = known.target === service.target;
    this.#state = same ? { ...fresh, ...known } : fresh;
    this.#seen = new Seen(same ? seen : undefined);
  }

  get state(): Json {
    return { ...this.#state, seen: this.#seen.toJSON() };
  }

  async send({ head, lines }: Chunk, signal: AbortSignal): Promise<void> {
    const run = head as unknown as MlflowHead;
    if (this.#state.part !== run.part) await this.#begin(run, signal);
    const parsed = lines.map(parseLine);
    const metrics = parsed.flatMap((line) => (line?.kind === "log" ? this.#metricsOf(line) : []));
    for (const batch of inBatches(metrics)) await this.#log(batch, signal);
    const end = parsed.findLast((line) => line?.kind === "end");
    if (end?.kind !== "end") return;
    const { status, time, reason } = end;
    if (reason !== "") await this.#post("/runs/set-tag", { key: "hookline_reason", ...tagged(reason) }, signal);
    await this.#post("/runs/update", { status: STATUS[status], end_time: time }, signal);
    this.#state.ended = true;
  }

  async #begin(head: MlflowHead, signal: AbortSignal): Promise<void> {
    const { id } = this.#state;
    if (id !== "" && id !== head.id && !this.#state.ended) {
      // The run was killed, or it would have reported its end.
      await this.#post("/runs/update", { status: "KILLED" }, signal);
      this.#state.ended = true;
    }
    if (id !== head.id) {
      const runId = await this.#findOrCreate(head, signal);
      Object.assign(this.#state, { id: head.id, runId, ended: false });
      this.#seen = new Seen();
      this.#unsure = true;
    } else if (this.#state.ended) {
      await this.#post("/runs/update", { status: "RUNNING" }, signal);
      this.#state.ended = false;
    }
    if (this.#unsure) await this.#lookAround(signal);
    await this.#params(head, signal);
    this.#state.part = head.part;
  }

  async #findOrCreate(head: MlflowHead, signal: AbortSignal): Promise<string> {
    const experiment = this.#experiments.get(head.experiment) ?? (await this.#experiment(head.experiment, signal));
    this.#experiments.set(head.experiment, experiment);
    const filter = `tags.${ID_TAG} = '${head.id.replaceAll("'", "")}'`;
    const search = { experiment_ids: [experiment], filter, max_results: 1 };
    const found = (await this.#call("POST", "/runs/search", search, signal)) as { runs?: readonly RemoteRun[] };
    const known = found.runs?.[0]?.info?.run_id;
    if (known !== undefined) return known;
    const tags = names.tagsOf({ ...head.tags, [ID_TAG]: head.id.replaceAll("'", "") });
    const fresh = { experiment_id: experiment, run_name: head.name, start_time: head.startedAt, tags };
    const { run } = (await this.#call("POST", "/runs/create", fresh, signal)) as { run?: RemoteRun };
    return needed(run?.info?.run_id, "run_id");
  }

  async #experiment(name: string, signal: AbortSignal): Promise<string> {
    const query = `/experiments/get-by-name?experiment_name=${encodeURIComponent(name)}`;
    const find = async (): Promise<string> => {
      type Found = { experiment?: { experiment_id?: string; lifecycle_stage?: string } };
      const { experiment } = (await this.#call("GET", query, undefined, signal)) as Found;
      if (experiment?.lifecycle_stage === "deleted") {
        throw new ServiceError(`the experiment "${name}" was deleted. Restore it, or use another`, 404, "");
      }
      return needed(experiment?.experiment_id, "experiment_id");
    };
    try {
      return await find();
    } catch (error) {
      if (!hasCode(error, "RESOURCE_DOES_NOT_EXIST")) throw error;
    }
    try {
      type Created = { experiment_id?: string };
      const created = (await this.#call("POST", "/experiments/create", { name }, signal)) as Created;
      return needed(created.experiment_id, "experiment_id");
    } catch (error) {
      // Someone else created it, or our own earlier attempt arrived after all.
      if (hasCode(error, "RESOURCE_ALREADY_EXISTS")) return find();
      throw error;
    }
  }

  /** Sending the same value again is no error for MLflow; sending another one is. */
  async #params({ hparams }: MlflowHead, signal: AbortSignal): Promise<void> {
    const all = names.paramsOf(hparams, names.LONGEST_PARAM);
    const short = names.paramsOf(hparams, names.LONGEST_OLD_PARAM);
    const refused: string[] = [];
    for (let at = 0; at < all.length; at += names.MOST_PARAMS) {
      const params = all.slice(at, at + names.MOST_PARAMS);
      if (await this.#accepts({ params }, signal)) continue;
      for (const [i, param] of params.entries()) {
        if (await this.#accepts({ params: [param] }, signal)) continue;
        if (!(await this.#accepts({ params: [short[at + i]!] }, signal))) refused.push(param.key);
      }
    }
    if (refused.length > 0)
      this.#warn(`These parameters have another value there, and keep it: ${refused.join(", ")}.`);
  }

  async #accepts(body: object, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#post("/runs/log-batch", body, signal);
      return true;
    } catch (error) {
      if (error instanceof ServiceError && error.refused) return false;
      throw error;
    }
  }

  async #log(batch: readonly Metric[], signal: AbortSignal): Promise<void> {
    if (this.#unsure) await this.#lookAround(signal);
    const metrics = batch.filter(({ key, step }) => this.#seen.isNew(key, step));
    if (metrics.length === 0) return;
    this.#unsure = true;
    await this.#post("/runs/log-batch", { metrics }, signal);
    this.#unsure = false;
    for (const { key, step } of metrics) this.#seen.add(key, step);
  }

  /** Asks for the latest step of each metric, so that nothing is sent twice. */
  async #lookAround(signal: AbortSignal): Promise<void> {
    const path = `/runs/get?run_id=${encodeURIComponent(this.#state.runId)}`;
    const { run } = (await this.#call("GET", path, undefined, signal)) as { run?: RemoteRun };
    for (const { key, step = 0 } of run?.data?.metrics ?? []) this.#seen.add(key, Number(step));
    this.#unsure = false;
  }

  #metricsOf({ scalars, step, time }: LoggedLine): Metric[] {
    return Object.entries(scalars).map(([name, value]) => ({ key: this.#keyOf(name), value, timestamp: time, step }));
  }

  /** Cached, because names repeat at every step. */
  #keyOf(name: string): string {
    let key = this.#keys.get(name);
    if (key === undefined) this.#keys.set(name, (key = names.safeName(name)));
    return key;
  }

  #post(path: string, body: object, signal: AbortSignal): Promise<unknown> {
    return this.#call("POST", path, { run_id: this.#state.runId, ...body }, signal);
  }

  #call(method: "GET" | "POST", path: string, body: object | undefined, signal: AbortSignal): Promise<unknown> {
    return this.#service.call(method, `${API}${path}`, body, signal);
  }
}

const hasCode = (error: unknown, code: string): boolean => error instanceof ServiceError && error.code === code;
const tagged = (value: string): object => ({ value: value.slice(0, names.LONGEST_TAG) });

function needed(value: string | undefined, field: string): string {
  if (value !== undefined && value !== "") return value;
  throw new ServiceError(`the answer has no ${field}`, 502, "");
}

/** Splits metrics by the limits of a request. A value takes its name, its numbers and some 60 characters around them. */
function* inBatches(metrics: readonly Metric[]): Generator<readonly Metric[]> {
  let batch: Metric[] = [];
  let bytes = 0;
  for (const metric of metrics) {
    const size = 3 * metric.key.length + 110;
    if (batch.length >= names.MOST_METRICS || bytes + size > names.MOST_BYTES) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(metric);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
