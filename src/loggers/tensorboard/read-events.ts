// Reads the logged records back from an event file: where each begins, its step and its scalars.
import { HEAD, TAIL, maskedCrc32c } from "./record.ts";

/** Reads up to `length` bytes of a file from `at`. */
export type ReadAt = (at: number, length: number) => Promise<Uint8Array>;

export interface FileEvent {
  /** Where it begins in the file, and where the next one does. */
  readonly at: number;
  readonly end: number;
  readonly step: number;
  /** `record` has the scalars of one record, maybe none; `other` is the file's version, or media. */
  readonly kind: "record" | "start" | "sessionEnd" | "other";
  /** Of a `record`, when asked for. */
  readonly scalars: () => ReadonlyMap<string, number>;
}

/** Bytes read at once: many small events. */
const WINDOW = 256 * 1024;
/** Only so many bytes of a longer event, such as an image, are read. */
const LONGEST = 4 * 1024 * 1024;

/** The complete events of a file, up to its end or the first torn or damaged one. */
export async function* eventsIn(read: ReadAt, size: number, sessionEnd: string): AsyncGenerator<FileEvent> {
  let bytes = new Uint8Array(0);
  let from = 0;
  const have = async (at: number, length: number): Promise<Uint8Array> => {
    if (at < from || at + length > from + bytes.length) {
      from = at;
      bytes = (await read(at, Math.max(length, WINDOW))).slice();
    }
    return bytes.subarray(at - from, at - from + length);
  };
  for (let at = 0; at + HEAD + TAIL <= size;) {
    const head = await have(at, HEAD);
    const view = new DataView(head.buffer, head.byteOffset, head.length);
    const length = view.getUint32(0, true);
    const end = at + HEAD + length + TAIL;
    const isHead = view.getUint32(4, true) === 0 && view.getUint32(8, true) === maskedCrc32c(head, 0, 8);
    if (!isHead || end > size) return;
    const payload = await have(at + HEAD, Math.min(length, LONGEST));
    yield { at, end, ...decode(payload, sessionEnd) };
    at = end;
  }
}

const [VARINT, FIXED64, BYTES, FIXED32] = [0, 1, 2, 5];
const STEP = 2;
const SUMMARY = 5;
const SESSION_LOG = 7;
const VALUE = 1;
const TAG = 1;
const SIMPLE_VALUE = 2;

function decode(payload: Uint8Array, sessionEnd: string): Omit<FileEvent, "at" | "end"> {
  const none = (): ReadonlyMap<string, number> => new Map();
  let step = 0;
  for (const { field, value } of fieldsOf(payload)) {
    if (field === STEP) step = value as number;
    else if (field === SESSION_LOG) return { step, kind: "start", scalars: none };
    else if (field === SUMMARY) {
      const summary = value as Uint8Array;
      const [first] = fieldsOf(summary);
      const [tag, second] = first ? fieldsOf(first.value as Uint8Array) : [];
      const isRecord = first === undefined || second?.field === SIMPLE_VALUE;
      const isEnd = tag !== undefined && textOf(tag.value) === sessionEnd;
      return { step, kind: isRecord ? "record" : isEnd ? "sessionEnd" : "other", scalars: () => scalarsOf(summary) };
    }
  }
  return { step, kind: "other", scalars: none };
}

function scalarsOf(summary: Uint8Array): Map<string, number> {
  const scalars = new Map<string, number>();
  for (const { field, value } of fieldsOf(summary)) {
    if (field !== VALUE) continue;
    const parts = [...fieldsOf(value as Uint8Array)];
    const tag = parts.find((part) => part.field === TAG);
    const simple = parts.find((part) => part.field === SIMPLE_VALUE)?.value;
    if (tag && simple instanceof Uint8Array)
      scalars.set(textOf(tag.value), new DataView(simple.buffer, simple.byteOffset).getFloat32(0, true));
  }
  return scalars;
}

const decoder = new TextDecoder();
const textOf = (value: number | Uint8Array): string => (typeof value === "number" ? "" : decoder.decode(value));

interface Field {
  readonly field: number;
  /** The number of a varint, or the bytes of anything else; fewer in a truncated message. */
  readonly value: number | Uint8Array;
}

function* fieldsOf(bytes: Uint8Array): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; at < bytes.length; scale *= 0x80) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < bytes.length) {
    const head = varint();
    const field = Math.floor(head / 8);
    const kind = head & 7;
    if (kind === VARINT) {
      yield { field, value: varint() };
      continue;
    }
    const length = kind === FIXED64 ? 8 : kind === FIXED32 ? 4 : kind === BYTES ? varint() : undefined;
    if (length === undefined) return;
    yield { field, value: bytes.subarray(at, at + length) };
    at += length;
  }
}
