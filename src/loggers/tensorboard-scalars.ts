// The scalars of one step as one event, written straight into the buffer: for each a copy of what its tag always has,
// and four bytes.
//
// They are `simple_value`s, not the scalar tensors of TensorFlow 2: TensorBoard shows both alike (both are float32),
// they are half as long, and EventAccumulator.Scalars(), which most scripts read event files with, knows no others.
import { putVarint, varintSize } from "../core/protobuf.ts";
import type { RecordBuffer } from "./formats/record.ts";

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
