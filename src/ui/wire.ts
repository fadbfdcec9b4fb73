// What the dashboard's server and its pages say to each other. Only types: both sides import them, and nothing else of
// each other. All addresses are below `/api/v1/`; docs/ui.md lists them. Every POST sends JSON and the header
// `X-Hookline: 1`. Numbers that JSON lacks are the strings "NaN", "Infinity" and "-Infinity", as in run.json.
import type { ControlHello } from "../runs/control/types.ts";
import type { BestValue, RunEvent, RunInfo } from "../runs/types.ts";
import type { Json } from "../core/options.ts";

export type { ControlHello };

/** `GET hello`. */
export interface ServerHello {
  readonly version: string;
  /** The directory that is shown, as its user named it. */
  readonly root: string;
  readonly host: string;
  readonly user: string;
  /** Whether commands are refused. */
  readonly readOnly: boolean;
}

/**
 * `evaluating` and `saving`: for a while already, and only where `control()` says so. `starting`: no record yet. `stale`: running, but no news for a long time.
 * `elsewhere`: on another host, without a sign of life.
 */
export type RunState =
  | "starting"
  | "running"
  | "evaluating"
  | "saving"
  | "paused"
  | "stale"
  | "killed"
  | "elsewhere"
  | "completed"
  | "stopped"
  | "interrupted"
  | "error";

/** A line of the list of runs. */
export interface RunRow {
  /** Twelve hex digits: requests name a run by its id, never by a path. */
  readonly id: string;
  /** The path from the root. */
  readonly name: string;
  readonly state: RunState;
  readonly reason: string | null;
  readonly step: number;
  readonly totalSteps: number | null;
  /** Seconds of training. */
  readonly elapsed: number;
  readonly engine: string | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** When the latest record was written, or an ended run ended; null when neither is known. */
  readonly newsAt: number | null;
  readonly best: Readonly<Record<string, BestValue>>;
  readonly hparams: Readonly<Record<string, string | number | boolean | null>>;
  /** The metric by which the run is judged: `val/loss`, else `loss`, else its first one. */
  readonly metric: string | null;
  /** The id of the study that it is a trial of. */
  readonly study: string | null;
  /** Whether `control()` listens. */
  readonly controllable: boolean;
}

/** `GET runs?since=rev`: what has changed since that answer; everything without `since`. */
export interface RunsAnswer {
  readonly rev: number;
  readonly rows: readonly RunRow[];
  /** Ids of runs that are no longer there. */
  readonly gone: readonly string[];
  /** Some of the directories with a run.json that cannot be read, and how many there are. */
  readonly unreadable: { readonly some: readonly string[]; readonly count: number };
}

/** Some of the latest values of the main metric, for a small curve. */
export interface Spark {
  readonly metric: string;
  readonly values: readonly number[];
}

/** `GET sparks?runs=id,id`: of the rows on the screen, because a curve needs the log; null without values. */
export type SparksAnswer = Readonly<Record<string, Spark | null>>;

/** A hook of a run, with its cost so far. */
export interface HookRow {
  readonly name: string;
  readonly stage: string;
  readonly enabled: boolean;
  readonly events: readonly string[];
  /** Hooks that it asked to run before or after. */
  readonly before?: readonly string[];
  readonly after?: readonly string[];
  /** Milliseconds that a call may take. */
  readonly budget?: number;
  readonly calls: number;
  readonly ms: number;
}

/** Hook times at one step, cumulative: `[hook, event, calls, ms]`. */
export interface HookTimes {
  readonly step: number;
  readonly time: number;
  readonly times: readonly (readonly [hook: string, event: string, calls: number, ms: number])[];
}

/** `GET runs/:id`. */
export interface RunPage {
  readonly row: RunRow;
  readonly info: RunInfo;
  /** Increases when the log was cut back: forget the points of before. */
  readonly rev: number;
  readonly records: number;
  readonly names: readonly string[];
  /** The last value of each. */
  readonly latest: Readonly<Record<string, number>>;
  /** Lines of the log that could not be read. */
  readonly problems: number;
  readonly parts: readonly { readonly startedAt: number; readonly step: number }[];
  readonly hooks: readonly HookRow[];
  readonly hookTimes: readonly HookTimes[];
  /** Names of images and texts in the log. */
  readonly media: readonly {
    readonly name: string;
    readonly kind: "image" | "text";
    readonly steps: readonly number[];
  }[];
  /** What `control()` wrote last; null without it. */
  readonly control: ControlHello | null;
}

/** `GET runs/:id/events?after=n`: `next` is the `after` of the next request. */
export interface EventsAnswer {
  readonly events: readonly RunEvent[];
  readonly next: number;
}

export interface CheckpointRow {
  readonly name: string;
  readonly step: number;
  readonly reason: string;
  readonly time: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly parent: string | null;
  /** The run that wrote it: another one than the page's in a branch. */
  readonly run: string;
  readonly bytes: number;
  /** The hooks that asked for it. */
  readonly by: readonly string[];
  /** The hooks of the running training that hold it: it is not removed as long as there is one. */
  readonly heldBy: readonly string[];
  /** Only with `?verify=name`. */
  readonly verified?: boolean;
}

/** The axis of a chart. */
export type Axis = "step" | "epoch" | "time" | "elapsed" | "samples" | "tokens";

/**
 * `POST series`, answered in the format of series.ts. At most `4 × px` points for each, and with `from` or `to` the
 * nearest one beyond each end. `px` is from 2 to 10,000.
 */
export interface SeriesRequest {
  readonly x: Axis;
  readonly px: number;
  readonly from?: number;
  readonly to?: number;
  /** Half-life in units of x; 0 or absent: not smoothed. */
  readonly smooth?: number;
  readonly series: readonly {
    readonly run: string;
    readonly name: string;
    /** Only points after this one, by index among all points: `total` of the last answer. */
    readonly after?: number;
    /** The `rev` of the last answer; `after` is ignored when it is no longer this. */
    readonly rev?: number;
  }[];
}

/** `POST heat`: one series for each metric that matches, all with the same x. */
export interface HeatRequest {
  readonly run: string;
  /** With `*` for any text: `grad/norm/*`. */
  readonly match: string;
  readonly from?: number;
  readonly to?: number;
  readonly px: number;
}

/** The header of one series in the binary answer; the numbers follow as Float64. */
export interface SeriesHeader {
  readonly run: string;
  readonly name: string;
  readonly rev: number;
  /** All points of this metric. */
  readonly total: number;
  /** Points in this answer. */
  readonly n: number;
  readonly reduced: boolean;
  /** Byte offsets into the numbers. `smooth` is present when it was asked for. */
  readonly x: number;
  readonly y: number;
  readonly smooth?: number;
}

/** `POST runs/:id/commands`: what the page asks for. The server adds id, run, part, who and when. */
export interface CommandRequest {
  readonly verb: string;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly why?: string;
  readonly at?: { readonly step: number };
  /** `part` of the hello that the page shows: refused with 410 when the run was resumed since. */
  readonly part?: number;
  /** A name typed into the page. */
  readonly says?: string;
}

/** `GET runs/:id/commands`: newest first. */
export interface CommandRow {
  readonly id: string;
  readonly verb: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly by: string;
  readonly why?: string;
  readonly sentAt: number;
  /** While it waits: for the end of this step. */
  readonly at?: { readonly step: number };
  readonly state: "waiting" | "applied" | "refused" | "expired";
  /** Where it was applied or refused. */
  readonly step?: number;
  readonly reason?: string;
  readonly replayOf?: string;
}

/** Server-sent events of `GET stream?show=id,id`: a bell, after which the page asks for what is new. */
export interface StreamEvents {
  readonly runs: { readonly rev: number };
  readonly run: {
    readonly id: string;
    readonly rev: number;
    readonly records: number;
    readonly step: number;
    readonly time: number;
    readonly state: RunState;
  };
  readonly command: { readonly run: string; readonly command: CommandRow };
  readonly event: { readonly run: string; readonly next: number };
  /** The server ends. */
  readonly bye: null;
}

/** Every error, with its HTTP status. */
export interface ErrorAnswer {
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string };
}

/** `GET studies`. */
export interface StudyRow {
  readonly id: string;
  readonly name: string;
  readonly state: "running" | "paused" | "completed" | "stopped" | "interrupted" | "error" | "killed";
  readonly trials: number;
  readonly done: number;
  /** How many trials there will be, as its controller says; null when none runs, or where that is not known. */
  readonly planned: number | null;
  readonly best: number | null;
  readonly objective: string;
}

/** `GET studies/:id`: the study, with the runs of its trials. */
export interface StudyPage {
  readonly row: StudyRow;
  readonly objectives: readonly { readonly metric: string; readonly mode: "min" | "max" }[];
  /** In the order of the space. Numbers are drawn on their scale, everything else as choices. */
  readonly parameters: readonly {
    readonly name: string;
    readonly scale: "linear" | "log" | "choice";
    /** Of a choice, as texts. */
    readonly choices?: readonly string[];
  }[];
  readonly trials: readonly TrialRow[];
  /** Parameters as `enqueue` takes them: those of the best trial, or of the first; null without a trial. */
  readonly example: Readonly<Record<string, Json>> | null;
  /** Share of each parameter, most important first; null with too few trials. */
  readonly importance: readonly { readonly name: string; readonly share: number }[] | null;
  /** What a person may ask of it: names of commands; empty when nobody listens. */
  readonly allow: readonly string[];
}

export interface TrialRow {
  readonly number: number;
  readonly status: "waiting" | "running" | "interrupted" | "paused" | "completed" | "pruned" | "failed";
  /** By the names of `parameters`. */
  readonly params: Readonly<Record<string, string | number | boolean | null>>;
  /** By the metrics of the objectives. */
  readonly result: Readonly<Record<string, number>>;
  /** Reports of the first objective: `[step, value]`. */
  readonly reports: readonly (readonly [step: number, value: number])[];
  readonly reason: string;
  /** The id of its run; null when it has no directory. */
  readonly run: string | null;
  /** A person has changed it: its result did not teach the sampler. */
  readonly touched: boolean;
}

/** `GET runs/:id/log?after=n`: what a trial printed; `next` is the `after` of the next request. */
export interface LogAnswer {
  readonly text: string;
  readonly next: number;
}

/** `GET runs/:id/texts?name`: the texts of that name, by step; of very long ones the latest. */
export interface TextsAnswer {
  readonly texts: readonly { readonly step: number; readonly text: string }[];
}
