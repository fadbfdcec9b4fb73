// TensorBoard's events: which protocol buffer fields hold what. Scalars, which are many, have a file of their own.
// The field numbers are those of tensorboard/compat/proto: event, summary, tensor, tensor_shape, types.
import type { HistogramMedia, ImageMedia } from "../core/media.ts";
import { blob, concat, double, message, string, uint } from "../core/protobuf.ts";

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
export const pluginEvent = (moment: Moment, tag: string, plugin: string, content: Uint8Array): Uint8Array =>
  summary(moment, tag, tensor(DT_FLOAT, [0], new Uint8Array()), metadata(plugin, content));
