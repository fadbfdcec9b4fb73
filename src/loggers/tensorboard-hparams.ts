// What TensorBoard's HPARAMS tab shows of a run: its hyper-parameters, when it began, and how it ended.
//
// No experiment is written. TensorBoard takes the first one that it finds for all of its runs, so the columns of one run
// would hide what the others have; without any, it gathers hyper-parameters and metrics from all runs.
import type { Json } from "../core/json.ts";
import { double, message, string, uint } from "../core/protobuf.ts";
import { pluginEvent, type Moment } from "./tensorboard-events.ts";

const PLUGIN = "hparams";
export const SESSION_END = "_hparams_/session_end_info";
const STATUS = { success: 1, failure: 2 } as const;

export function sessionStartInfo(moment: Moment, hparams: Readonly<Record<string, Json>>): Uint8Array {
  const entries = flatten(hparams).map(([name, value]) => message(1, string(1, name), message(2, encode(value))));
  const info = message(3, ...entries, double(5, moment.seconds));
  return pluginEvent(moment, "_hparams_/session_start_info", PLUGIN, info);
}

/** TensorBoard believes the first end that it reads: a part that goes on must not have one (tensorboard-resume.ts). */
export function sessionEndInfo(moment: Moment, status: keyof typeof STATUS): Uint8Array {
  const info = message(4, uint(1, STATUS[status]), double(2, moment.seconds));
  return pluginEvent(moment, SESSION_END, PLUGIN, info);
}

type Value = boolean | number | string;

/** The tab's cells are single values: objects become `optimizer.lr`, arrays their JSON, and null an empty cell. */
function flatten(hparams: Readonly<Record<string, Json>>, prefix = ""): [string, Value][] {
  return Object.entries(hparams).flatMap(([key, value]): [string, Value][] => {
    const name = prefix + key;
    if (value === null || value === undefined) return [];
    if (Array.isArray(value)) return [[name, JSON.stringify(value)]];
    if (typeof value === "object") return flatten(value as Readonly<Record<string, Json>>, `${name}.`);
    // TensorBoard leaves out numbers that JSON does not have.
    return [[name, typeof value === "number" && !Number.isFinite(value) ? String(value) : value]];
  });
}

/** google.protobuf.Value. */
function encode(value: Value): Uint8Array {
  if (typeof value === "number") return double(2, value);
  if (typeof value === "string") return string(3, value);
  return uint(4, value ? 1 : 0);
}
