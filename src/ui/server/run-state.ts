// The state of a run as a person understands it: what its files say, and whether anybody still writes them.
import { livenessOf, markIn } from "../../runs/liveness.ts";
import type { RunInfo } from "../../runs/types.ts";
import type { ControlHello, RunState } from "../wire.ts";

export interface RunSigns {
  readonly info: RunInfo;
  /** What `control()` wrote last; undefined without it. */
  readonly hello: ControlHello | undefined;
  /** Of the latest record; undefined without one. */
  readonly lastRecord: number | undefined;
  /** When a file of the run was written last, in milliseconds since 1970. */
  readonly writtenAt: number;
  /** Milliseconds between two records, usually. */
  readonly usualGap: number;
}

/** Whether the process that writes the run also wrote this: the one before a resume has left its own. */
export function isHelloOf(hello: ControlHello | undefined, { about }: RunInfo): boolean {
  const { pid, host, started } = about as Readonly<Record<string, unknown>>;
  return (
    hello !== undefined && hello.pid === pid && hello.host === host && hello.started === (started ?? hello.started)
  );
}

/** A run is quiet after this long, or after ten times its usual gap. */
const QUIET_MS = 30_000;
const QUIET_GAPS = 10;

export function stateOf({ info, hello, lastRecord, writtenAt, usualGap }: RunSigns, now: number): RunState {
  if (info.status !== "running") return info.status;
  const mark = markIn(info.about);
  const liveness = mark ? livenessOf(mark) : "unknown";
  if (liveness === "dead") return "killed";
  const isQuiet = now - writtenAt > Math.max(QUIET_MS, QUIET_GAPS * usualGap);
  if (liveness === "unknown" && isQuiet) return "elsewhere";
  if (hello?.state === "paused" && isHelloOf(hello, info)) return "paused";
  if (hello?.doing !== undefined && isHelloOf(hello, info)) return hello.doing;
  if (lastRecord === undefined || lastRecord < info.partStartedAt) return "starting";
  return isQuiet ? "stale" : "running";
}

/** The median distance of times; 0 for fewer than two. */
export function usualGap(times: Float64Array): number {
  if (times.length < 2) return 0;
  const gaps = times
    .slice(1)
    .map((time, i) => time - times[i]!)
    .filter((gap) => gap >= 0)
    .sort();
  return gaps[Math.floor(gaps.length / 2)] ?? 0;
}
