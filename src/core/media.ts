// What can be logged besides numbers: histograms, texts and images, as plain data.
import { sizeOf, type HostArray } from "./arrays.ts";
import { ContextError } from "./errors.ts";

/** Counts of values between edges: `counts[i]` lie from `edges[i]` to `edges[i + 1]`. */
export interface HistogramMedia {
  readonly kind: "histogram";
  readonly edges: readonly number[];
  readonly counts: readonly number[];
  /** Of the values themselves, where they are known; else loggers estimate them from the counts. */
  readonly sum?: number;
  readonly sumOfSquares?: number;
}

/** A text to be logged; `text()` makes one. */
export interface TextMedia {
  readonly kind: "text";
  /** Markdown, where a logger shows it. */
  readonly text: string;
}

/** An image to be logged; `image()` makes one. */
export interface ImageMedia {
  readonly kind: "image";
  readonly width: number;
  readonly height: number;
  /** 1 grey, 3 colours, 4 with opacity; row by row, the channels of a pixel together. */
  readonly channels: 1 | 3 | 4;
  readonly pixels: Uint8Array;
}

/** What can be logged besides numbers. */
export type Media = HistogramMedia | TextMedia | ImageMedia;

/** A text to be logged: `ctx.log({ sample: text("the cat sat on …") })`. */
export const text = (value: string): TextMedia => ({ kind: "text", text: value });

/** A histogram of counts that you have, or of numbers: `histogram(values, { bins: 30 })`. */
export function histogram(
  values: ArrayLike<number> | { readonly edges: readonly number[]; readonly counts: readonly number[] },
  { bins = 30 }: { readonly bins?: number } = {},
): HistogramMedia {
  if (!("length" in values)) {
    if (values.edges.length !== values.counts.length + 1)
      throw new ContextError(
        `histogram: there must be one more edge than counts, got ${values.edges.length} and ${values.counts.length}.`,
      );
    return { kind: "histogram", edges: [...values.edges], counts: [...values.counts] };
  }
  const finite = Array.from(values).filter(Number.isFinite);
  const [low, high] = finite.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  if (finite.length === 0) return { kind: "histogram", edges: [0, 1], counts: [0], sum: 0, sumOfSquares: 0 };
  const width = (high - low) / bins || 1;
  const counts = Array.from({ length: bins }, () => 0);
  for (const value of finite) counts[Math.min(bins - 1, Math.floor((value - low) / width))]! += 1;
  const edges = Array.from({ length: bins + 1 }, (_, i) => low + i * width);
  const sum = finite.reduce((total, value) => total + value, 0);
  return {
    kind: "histogram",
    edges,
    counts,
    sum,
    sumOfSquares: finite.reduce((total, value) => total + value * value, 0),
  };
}

/** An image of shape [height, width] or [height, width, 1 | 3 | 4]: bytes as they are, other numbers from 0 to 1. */
export function image({ data, shape }: HostArray): ImageMedia {
  const [height = 0, width = 0, channels = 1] = shape;
  const isImage =
    (shape.length === 2 || shape.length === 3) && [1, 3, 4].includes(channels) && data.length === sizeOf(shape);
  if (!isImage || data.length === 0)
    throw new ContextError(
      `image: expected an array of shape [height, width] or [height, width, 1 | 3 | 4], got [${shape.join(", ")}].`,
    );
  const pixels =
    data instanceof Uint8Array
      ? data.slice()
      : Uint8Array.from(data, (value) => Math.round(255 * Math.min(1, Math.max(0, value))));
  return { kind: "image", width, height, channels: channels as 1 | 3 | 4, pixels };
}

export const isMedia = (value: unknown): value is Media =>
  typeof value === "object" && value !== null && ["histogram", "text", "image"].includes((value as Media).kind);
