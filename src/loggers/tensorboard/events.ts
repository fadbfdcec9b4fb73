import type { HistogramMedia, ImageMedia } from "../../core/media.ts";
import { blob, concat, double, message, putVarint, string, uint, varintSize } from "../../core/protobuf.ts";
import type { Json } from "../../core/options.ts";
import type { RecordBuffer } from "./record.ts";
import { numberToJson } from "../../runs/exact-json.ts";

// TensorBoard's events: which protocol buffer fields hold what. Scalars, which are many, have a file of their own.
// The field numbers are those of tensorboard/compat/proto: event, summary, tensor, tensor_shape, types.

/** When an event happened. Seconds since 1970 and the step. */
export interface Moment {
  readonly seconds: number;
  readonly step: number;
}

const DT_FLOAT = 1;
const DT_DOUBLE = 2;
const DT_STRING = 7;
const DATA_CLASS_TENSOR = 2;
const SESSION_START = 1;

/** A number that is zero when it is not there: then protocol buffers leave it out. */
const uintUnlessZero = (field: number, value: number): Uint8Array[] => (value === 0 ? [] : [uint(field, value)]);

const event = ({ seconds, step }: Moment, ...what: readonly Uint8Array[]): Uint8Array =>
  concat([double(1, seconds), ...uintUnlessZero(2, step), ...what]);

/** An event with one value: Event.summary.value of a tag, with these further fields. */
const summary = (moment: Moment, tag: string, ...value: readonly Uint8Array[]): Uint8Array =>
  event(moment, message(5, message(1, string(1, tag), ...value)));

/** The first event of every file. */
export const fileVersion = (seconds: number): Uint8Array => event({ seconds, step: 0 }, string(3, "brain.Event:2"));

/** A part of a run begins: from the second of these on, TensorBoard drops what it has of this step and later ones. */
export const sessionStart = (moment: Moment): Uint8Array => event(moment, message(7, uint(1, SESSION_START)));

/** Which plugin shows a tag: its name, its data, and the class of its values where they are told from others by it. */
const metadata = (plugin: string, content?: Uint8Array, dataClass?: number): Uint8Array =>
  message(
    9,
    message(1, string(1, plugin), ...(content ? [blob(2, content)] : [])),
    ...(dataClass === undefined ? [] : [uint(4, dataClass)]),
  );

const tensor = (type: number, shape: readonly number[], content: Uint8Array): Uint8Array =>
  message(8, uint(1, type), message(2, ...shape.map((size) => message(2, ...uintUnlessZero(1, size)))), content);

/** As TensorFlow 2 writes it: rows of left edge, right edge, count. A HistogramProto would lose the outermost edges. */
export function histogramEvent(moment: Moment, tag: string, { edges, counts }: HistogramMedia): Uint8Array {
  const rows = new DataView(new ArrayBuffer(counts.length * 24));
  counts.forEach((count, i) => {
    rows.setFloat64(i * 24, edges[i]!, true);
    rows.setFloat64(i * 24 + 8, edges[i + 1]!, true);
    rows.setFloat64(i * 24 + 16, count, true);
  });
  const content = blob(4, new Uint8Array(rows.buffer));
  const about = metadata("histograms", undefined, DATA_CLASS_TENSOR);
  return summary(moment, tag, tensor(DT_DOUBLE, [counts.length, 3], content), about);
}

export const textEvent = (moment: Moment, tag: string, text: string): Uint8Array =>
  summary(moment, tag, tensor(DT_STRING, [], string(8, text)), metadata("text", undefined, DATA_CLASS_TENSOR));

/** `png` is the image, encoded. As Summary.Image, which readers of every age know. */
export function imageEvent(moment: Moment, tag: string, image: ImageMedia, png: Uint8Array): Uint8Array {
  const { height, width, channels } = image;
  return summary(moment, tag, message(4, uint(1, height), uint(2, width), uint(3, channels), blob(4, png)));
}

/** Data for a plugin that reads nothing else: the value is an empty tensor, because readers expect one. */
const pluginEvent = (moment: Moment, tag: string, plugin: string, content: Uint8Array): Uint8Array =>
  summary(moment, tag, tensor(DT_FLOAT, [0], new Uint8Array()), metadata(plugin, content));

// What TensorBoard's HPARAMS tab shows of a run: its hyper-parameters, when it began, and how it ended.
//
// No experiment is written. TensorBoard takes the first one that it finds for all of its runs, so the columns of one run
// would hide what the others have; without any, it gathers hyper-parameters and metrics from all runs.

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
    return [[name, typeof value === "number" ? numberToJson(value) : value]];
  });
}

/** google.protobuf.Value. */
function encode(value: Value): Uint8Array {
  if (typeof value === "number") return double(2, value);
  if (typeof value === "string") return string(3, value);
  return uint(4, value ? 1 : 0);
}

// The scalars of one step as one event, written straight into the buffer: for each a copy of what its tag always has,
// and four bytes.
//
// They are `simple_value`s, not the scalar tensors of TensorFlow 2: TensorBoard shows both alike (both are float32),
// they are half as long, and EventAccumulator.Scalars(), which most scripts read event files with, knows no others.

const encoder = new TextEncoder();

/** Event.wall_time, Event.step, Event.summary, Summary.value, Value.tag and Value.simple_value. */
const WALL_TIME = (1 << 3) | 1;
const STEP = (2 << 3) | 0;
const SUMMARY = (5 << 3) | 2;
const VALUE = (1 << 3) | 2;
const TAG = (1 << 3) | 2;
const SIMPLE_VALUE = (2 << 3) | 5;

/** What comes before the number: the value's head, its tag, and the number's own head. */
function headOf(tag: string): Uint8Array {
  const name = encoder.encode(tag);
  const inner = 1 + varintSize(name.length) + name.length + 1 + 4;
  const head = new Uint8Array(1 + varintSize(inner) + inner - 4);
  head[0] = VALUE;
  let at = putVarint(head, 1, inner);
  head[at] = TAG;
  at = putVarint(head, at + 1, name.length);
  head.set(name, at);
  head[at + name.length] = SIMPLE_VALUE;
  return head;
}

export class ScalarEvents {
  readonly #heads = new Map<string, Uint8Array>();
  /** Of the event at hand, in order. Kept to save an array for each. */
  readonly #now: Uint8Array[] = [];

  /** Also of a record without scalars: whoever reads the file can count its records. */
  append(buffer: RecordBuffer, seconds: number, step: number, scalars: Readonly<Record<string, number>>): void {
    const heads = this.#now;
    let count = 0;
    let size = 0;
    for (const tag in scalars) {
      let head = this.#heads.get(tag);
      if (head === undefined) this.#heads.set(tag, (head = headOf(tag)));
      heads[count++] = head;
      size += head.length + 4;
    }

    const length = 9 + 1 + varintSize(step) + 1 + varintSize(size) + size;
    let at = buffer.begin(length);
    const { bytes, view } = buffer;
    bytes[at] = WALL_TIME;
    view.setFloat64(at + 1, seconds, true);
    bytes[at + 9] = STEP;
    at = putVarint(bytes, at + 10, step);
    bytes[at] = SUMMARY;
    at = putVarint(bytes, at + 1, size);
    count = 0;
    for (const tag in scalars) {
      const head = heads[count++]!;
      // Heads are short: a loop is quicker than TypedArray.set.
      for (let i = 0; i < head.length; i++) bytes[at + i] = head[i]!;
      at += head.length;
      view.setFloat32(at, scalars[tag]!, true);
      at += 4;
    }
    buffer.commit(length);
  }
}
