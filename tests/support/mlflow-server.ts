// A tracking server as MLflow's REST API has it, with its checks and limits, and a history that keeps what comes twice.
import { faultyServer, type Answer, type Call, type FaultyServer } from "../loggers/queue-faults.ts";

interface StoredMetric {
  readonly key: string;
  readonly value: number | string;
  readonly timestamp: number;
  readonly step: number;
}

interface StoredRun {
  readonly id: string;
  readonly experiment: string;
  readonly name: string;
  readonly startTime: number;
  status: string;
  endTime: number | undefined;
  readonly tags: Map<string, string>;
  readonly params: Map<string, string>;
  /** As they came, duplicates too: the file store of MLflow does the same. */
  readonly metrics: StoredMetric[];
}

export interface MlflowServer extends FaultyServer {
  readonly runs: readonly StoredRun[];
  readonly experiments: ReadonlyMap<string, string>;
  /** What was wrong with requests, in words. */
  readonly problems: readonly string[];
  /** What must be in `Authorization`; "" for a server without passwords. */
  authorization: string;
  /** Longest value of a parameter. */
  longestParam: number;
}

type Body = Record<string, unknown>;
type Pair = { key: string; value: string };

const isName = (key: unknown): boolean =>
  typeof key === "string" &&
  key.length <= 250 &&
  /^[/\w.\- :]+$/.test(key) &&
  !/^\/|\/$|\/\/|(^|\/)\.{1,2}(\/|$)/.test(key);

class Refusal extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

const invalid = (message: string): Refusal => new Refusal("INVALID_PARAMETER_VALUE", message);

export async function mlflowServer(port = 0): Promise<MlflowServer> {
  const runs: StoredRun[] = [];
  const experiments = new Map([["Default", "0"]]);
  const problems: string[] = [];

  const runOf = (id: unknown): StoredRun => {
    const found = runs.find((run) => run.id === id);
    if (!found) throw new Refusal("RESOURCE_DOES_NOT_EXIST", `Run '${String(id)}' not found`, 404);
    return found;
  };

  function infoOf(run: StoredRun): object {
    const { id, experiment, name, status, startTime, endTime } = run;
    const info = { run_id: id, run_uuid: id, run_name: name, experiment_id: experiment, status };
    return { ...info, start_time: startTime, end_time: endTime, lifecycle_stage: "active" };
  }

  function latestOf({ metrics }: StoredRun): StoredMetric[] {
    const latest = new Map<string, StoredMetric>();
    for (const metric of metrics) {
      const known = latest.get(metric.key);
      const later =
        !known || metric.step > known.step || (metric.step === known.step && metric.timestamp >= known.timestamp);
      if (later) latest.set(metric.key, metric);
    }
    return [...latest.values()];
  }

  function logBatch(body: Body, half: boolean): object {
    const run = runOf(body["run_id"]);
    const {
      metrics = [],
      params = [],
      tags = [],
    } = body as { metrics?: StoredMetric[]; params?: Pair[]; tags?: Pair[] };
    if (metrics.length > 1000 || params.length > 100 || tags.length > 100) throw invalid("too many in one batch");
    if (JSON.stringify(body).length > 1e6) throw invalid("the request is too long");
    for (const { key, value, timestamp, step } of metrics) {
      if (!isName(key)) throw invalid(`Invalid metric name: ${key}`);
      if (typeof value !== "number" && !["NaN", "Infinity", "-Infinity"].includes(value))
        throw invalid(`Invalid value for ${key}`);
      if (!Number.isSafeInteger(timestamp) || !Number.isSafeInteger(step))
        throw invalid(`Invalid time or step of ${key}`);
    }
    for (const { key, value } of params) {
      if (!isName(key) || typeof value !== "string") throw invalid(`Invalid parameter ${key}`);
      if (value.length > server.longestParam) throw invalid(`Param value exceeds ${server.longestParam} characters`);
      if ((run.params.get(key) ?? value) !== value) throw invalid(`Changing param values is not allowed: ${key}`);
    }
    run.metrics.push(...metrics.slice(0, half ? metrics.length / 2 : undefined));
    for (const { key, value } of params) run.params.set(key, value);
    for (const { key, value } of tags) run.tags.set(key, value);
    return {};
  }

  function handle({ method, path, query, body }: Call, half: boolean): object {
    const given = (body ?? {}) as Body;
    switch (`${method} ${path.replace("/api/2.0/mlflow", "")}`) {
      case "GET /experiments/get-by-name": {
        const name = query.get("experiment_name") ?? "";
        const id = experiments.get(name);
        if (id === undefined) throw new Refusal("RESOURCE_DOES_NOT_EXIST", `No experiment '${name}'`, 404);
        return { experiment: { experiment_id: id, name, lifecycle_stage: "active" } };
      }
      case "POST /experiments/create": {
        const name = given["name"];
        if (typeof name !== "string" || name === "") throw invalid("Missing value for required parameter 'name'");
        if (experiments.has(name)) throw new Refusal("RESOURCE_ALREADY_EXISTS", `Experiment '${name}' exists`);
        experiments.set(name, String(experiments.size));
        return { experiment_id: experiments.get(name) };
      }
      case "POST /runs/search": {
        const [, key, value] = /^tags\.(\w+) = '([^']*)'$/.exec(String(given["filter"])) ?? [];
        if (key === undefined || !Array.isArray(given["experiment_ids"])) throw invalid("bad filter");
        const wanted = (run: StoredRun): boolean => (given["experiment_ids"] as string[]).includes(run.experiment);
        const found = runs.filter((run) => wanted(run) && run.tags.get(key) === value);
        return found.length === 0 ? {} : { runs: found.map((run) => ({ info: infoOf(run) })) };
      }
      case "POST /runs/create": {
        const {
          experiment_id: experiment,
          run_name: name,
          start_time: startTime,
          tags,
        } = given as Record<string, string>;
        if (![...experiments.values()].includes(experiment!))
          throw new Refusal("RESOURCE_DOES_NOT_EXIST", "no experiment", 404);
        if (!Number.isSafeInteger(startTime)) throw invalid("Invalid start_time");
        const run: StoredRun = {
          id: crypto.randomUUID().replaceAll("-", ""),
          experiment: experiment!,
          name: name!,
          startTime: Number(startTime),
          status: "RUNNING",
          endTime: undefined,
          tags: new Map((tags as unknown as Pair[]).map(({ key, value }) => [key, value])),
          params: new Map(),
          metrics: [],
        };
        runs.push(run);
        return { run: { info: infoOf(run), data: {} } };
      }
      case "POST /runs/log-batch":
        return logBatch(given, half);
      case "GET /runs/get": {
        const run = runOf(query.get("run_id"));
        return { run: { info: infoOf(run), data: { metrics: latestOf(run) } } };
      }
      case "POST /runs/set-tag":
        runOf(given["run_id"]).tags.set(String(given["key"]), String(given["value"]));
        return {};
      case "POST /runs/update": {
        const run = runOf(given["run_id"]);
        const { status, end_time: endTime } = given as { status: string; end_time?: number };
        if (!["RUNNING", "FINISHED", "FAILED", "KILLED"].includes(status)) throw invalid("Invalid status");
        run.status = status;
        run.endTime = endTime;
        return { run_info: infoOf(run) };
      }
      default:
        throw new Refusal("ENDPOINT_NOT_FOUND", path, 404);
    }
  }

  function apply(call: Call, half: boolean): Answer {
    try {
      if ((call.headers.authorization ?? "") !== server.authorization) {
        // As careless servers do: the answer quotes what it was given.
        throw new Refusal("UNAUTHENTICATED", `You are not authenticated: ${call.headers.authorization}`, 401);
      }
      if (call.method === "POST" && call.headers["content-type"] !== "application/json") throw invalid("no JSON");
      return { body: handle(call, half) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.code === "INVALID_PARAMETER_VALUE") problems.push(error.message);
      return { status: error.status, body: { error_code: error.code, message: error.message } };
    }
  }

  const faulty = await faultyServer(port);
  faulty.apply = apply;
  const server: MlflowServer = Object.assign(faulty, {
    runs,
    experiments,
    problems,
    authorization: "",
    longestParam: 6000,
  });
  return server;
}
