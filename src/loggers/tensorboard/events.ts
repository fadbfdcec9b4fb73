// TensorBoard's events as protocol buffers: media, hyperparameters, and scalars, which are many and written in place.
// The field numbers are those of tensorboard/compat/proto: event, summary, tensor, tensor_shape, types.
import type { HistogramMedia, ImageMedia } from "../../core/media.ts";
import { blob, concat, double, message, putVarint, string, uint, varintSize } from "../../core/protobuf.ts";
import type { Json } from "../../core/options.ts";
import type { RecordBuffer } from "./record.ts";
import { numberToJson } from "../../runs/exact-json.ts";

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

/** Protocol buffers leave out a number that is zero. */
const uintUnlessZero = (field: number, value: number): Uint8Array[] => (value === 0 ? [] : [uint(field, value)]);

const event = ({ seconds, step }: Moment, ...what: readonly Uint8Array[]): Uint8Array =>
  concat([double(1, seconds), ...uintUnlessZero(2, step), ...what]);

/** An event with one value: Event.summary.value of a tag, with these further fields. */
const summary = (moment: Moment, tag: string, ...value: readonly Uint8Array[]): Uint8Array =>
  event(moment, message(5, message(1, string(1, tag), ...value)));

/** The first event of every file. */
export const fileVersion = (seconds: number): Uint8Array => event({ seconds, step: 0 }, string(3, "brain.Event:2"));

/** A part of a run begins: from the second one on, TensorBoard drops what it has of this and later steps. */
export const sessionStart = (moment: Moment): Uint8Array => event(moment, message(7, uint(1, SESSION_START)));

/** The plugin that shows a tag: its name, its data, and the class of its values if it needs one. */
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

/** `png` is the encoded image. As Summary.Image, which all readers know. */
export function imageEvent(moment: Moment, tag: string, image: ImageMedia, png: Uint8Array): Uint8Array {
  const { height, width, channels } = image;
  return summary(moment, tag, message(4, uint(1, height), uint(2, width), uint(3, channels), blob(4, png)));
}

/** Data for a plugin that reads nothing else: the value is an empty tensor, because readers expect one. */
const pluginEvent = (moment: Moment, tag: string, plugin: string, content: Uint8Array): Uint8Array =>
  summary(moment, tag, tensor(DT_FLOAT, [0], new Uint8Array()), metadata(plugin, content));

// For TensorBoard's HPARAMS tab: hyperparameters, the start of a run, and its end. No experiment is written: TensorBoard
// would use the first one for all runs and hide what only others have.

const PLUGIN = "hparams";
export const SESSION_END = "_hparams_/session_end_info";
const STATUS = { success: 1, failure: 2 } as const;

export function sessionStartInfo(moment: Moment, hparams: Readonly<Record<string, Json>>): Uint8Array {
  const entries = flatten(hparams).map(([name, value]) => message(1, string(1, name), message(2, encode(value))));
  const info = message(3, ...entries, double(5, moment.seconds));
  return pluginEvent(moment, "_hparams_/session_start_info", PLUGIN, info);
}

/** TensorBoard takes the first end that it reads, so the files of a resumed run must not have one (earlier-files.ts). */
export function sessionEndInfo(moment: Moment, status: keyof typeof STATUS): Uint8Array {
  const info = message(4, uint(1, STATUS[status]), double(2, moment.seconds));
  return pluginEvent(moment, SESSION_END, PLUGIN, info);
}

type Value = boolean | number | string;

/** Cells of the tab are single values: objects become `optimizer.lr`, arrays JSON, and null an empty cell. */
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

// The scalars of one step are one event, written directly into the buffer: for each the constant bytes of its tag and four
// bytes of value. They are `simple_value`s, not the scalar tensors of TensorFlow 2: TensorBoard shows both alike, they are half
// as long, and EventAccumulator.Scalars(), which most scripts use, knows no others.

const encoder = new TextEncoder();

/** Event.wall_time, Event.step, Event.summary, Summary.value, Value.tag and Value.simple_value. */
const WALL_TIME = (1 << 3) | 1;
const STEP = (2 << 3) | 0;
const SUMMARY = (5 << 3) | 2;
const VALUE = (1 << 3) | 2;
const TAG = (1 << 3) | 2;
const SIMPLE_VALUE = (2 << 3) | 5;

/** The bytes before a number: the value's head, its tag, and the number's head. */
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
  /** The heads of the current event, in order; reused, to save an array per event. */
  readonly #now: Uint8Array[] = [];

  /** Also for a record without scalars, so that a reader of the file can count records. */
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
      // Heads are short: a loop is faster than TypedArray.set.
      for (let i = 0; i < head.length; i++) bytes[at + i] = head[i]!;
      at += head.length;
      view.setFloat32(at, scalars[tag]!, true);
      at += 4;
    }
    buffer.commit(length);
  }
}
