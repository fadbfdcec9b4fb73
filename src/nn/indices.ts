// Indices used inside a program: labels of classes, ids in a table. Their valid range is known while the program is
// traced, so that the values on the host can be checked against it.
import type { Tensor } from "../core/model.ts";
import { currentLayer } from "./tap.ts";

/** Numbers from 0 to `count − 1`, and what expects them. */
export interface IndexRange {
  /** A loss, a metric or a layer, such as `embedding(10, 3)`. */
  readonly owner: string;
  readonly what: "label" | "id";
  readonly count: number;
  /** A label that is ignored. */
  readonly ignoreIndex?: number;
}

/** A range and the layer that expects it; `""` outside of any layer. */
export interface PlacedRange extends IndexRange {
  readonly layer: string;
}

// One for all programs, as in tap.ts: tracing is synchronous.
let visitor: ((x: Tensor, range: PlacedRange) => void) | undefined;

/** Declares the range of `x` while a program is traced. Does not consume `x`. */
export function expectIndices(x: Tensor, range: IndexRange): void {
  visitor?.(x, { ...range, layer: currentLayer() });
}

/** Traces `run` and reports the ranges of its indices to `visit`. */
export function visitIndices<T>(visit: NonNullable<typeof visitor>, run: () => T): T {
  const outer = visitor;
  visitor = visit;
  try {
    return run();
  } finally {
    visitor = outer;
  }
}

/** As int32, like the program. */
function isInside({ count, ignoreIndex }: IndexRange, value: number): boolean {
  const index = value | 0;
  return (index >= 0 && index < count) || index === ignoreIndex;
}

/** The position of the first value outside the range; undefined if there is none. */
export function firstOutside(range: IndexRange, data: ArrayLike<number>): number | undefined {
  for (let i = 0; i < data.length; i++) if (!isInside(range, data[i]!)) return i;
  return undefined;
}

/** A description of the first value outside the range; undefined if there is none. */
export function outOfRange(range: PlacedRange, data: ArrayLike<number>, shape: readonly number[]): string | undefined {
  const first = firstOutside(range, data);
  if (first === undefined) return undefined;
  let bad = 1;
  for (let i = first + 1; i < data.length; i++) if (!isInside(range, data[i]!)) bad++;
  const more = bad > 1 ? ` (and ${bad - 1} more)` : "";
  return `${range.what} ${data[first]} ${placeOf(first, shape)}${more} ${expectation(range)}`;
}

/** What the owner of the range expects, as the end of a sentence about a value. */
export function expectation({ what, owner, count, ignoreIndex, layer }: PlacedRange): string {
  const of = layer === "" ? owner : `${owner} (layer \`${layer}\`)`;
  if (what === "id") return `is outside the table of ${of}, whose ids are 0 to ${count - 1}`;
  const ignored = ignoreIndex === undefined ? "" : `, and not its \`ignoreIndex\` (${ignoreIndex})`;
  return `is none of the ${count} classes of ${of}, which are 0 to ${count - 1}${ignored}`;
}

/** `in row 2, position 5`, from an index into the flat array. */
function placeOf(at: number, [rows = 1, ...rest]: readonly number[]): string {
  const perRow = rest.reduce((product, size) => product * size, 1);
  const position: number[] = [];
  let left = at % perRow;
  for (let d = rest.length - 1; d >= 0; d--) {
    position.unshift(left % rest[d]!);
    left = Math.floor(left / rest[d]!);
  }
  const row = rows === 0 ? 0 : Math.floor(at / perRow);
  return `in row ${row}${position.length === 0 ? "" : `, position ${position.join(", ")}`}`;
}
