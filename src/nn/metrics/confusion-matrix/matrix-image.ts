// A confusion matrix as an image: each row shaded by its shares, with counts and names where there is room for them.
import type { ImageMedia } from "../../../core/media.ts";
import type { ConfusionCounts } from "./confusion-matrix.ts";
import { GLYPH_HEIGHT, glyphRows, textPixels } from "./tiny-font.ts";

/** Up to so many classes have counts and names. */
const MOST_NAMED = 24;
const CELL = 48;
/** Pixels of an image without names. */
const SIDE = 600;
const LONGEST = 10;

const SCALE = 2;
const WHITE = [255, 255, 255] as const;
const DARK = [8, 48, 107] as const;
const BLACK = [20, 20, 20] as const;

type Color = readonly [number, number, number];

/** Pixels with three channels. */
class Canvas {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.pixels = new Uint8Array(width * height * 3).fill(255);
  }

  fill(left: number, top: number, width: number, height: number, color: Color): void {
    for (let y = top; y < top + height; y++)
      for (let x = left; x < left + width; x++) this.pixels.set(color, 3 * (y * this.width + x));
  }

  /** Writes around the middle of a box. */
  write(text: string, left: number, top: number, width: number, height: number, color: Color): void {
    const room = text.slice(0, Math.max(1, Math.floor(width / textPixels(1, SCALE))));
    let x = left + Math.max(0, Math.floor((width - textPixels(room.length, SCALE)) / 2));
    const y = top + Math.floor((height - GLYPH_HEIGHT * SCALE) / 2);
    for (const letter of room) {
      for (const [row, bits] of glyphRows(letter).entries()) {
        for (const [column, isInk] of bits.entries())
          if (isInk) this.fill(x + column * SCALE, y + row * SCALE, SCALE, SCALE, color);
      }
      x += textPixels(1, SCALE);
    }
  }
}

export function drawMatrix({ counts, names }: ConfusionCounts): ImageMedia {
  const size = names.length;
  const isNamed = size <= MOST_NAMED;
  const cell = isNamed ? CELL : Math.max(1, Math.floor(SIDE / size));
  const longest = Math.min(LONGEST, Math.max(...names.map((name) => name.length)));
  const margin = isNamed ? textPixels(longest, SCALE) + 8 : 0;
  const top = isNamed ? CELL / 2 : 0;
  const canvas = new Canvas(margin + size * cell, top + size * cell);
  for (let row = 0; row < size; row++) {
    const line = counts.data.subarray(row * size, (row + 1) * size);
    const total = line.reduce((sum, count) => sum + count, 0);
    const y = top + row * cell;
    if (isNamed) {
      canvas.write(names[row]!, 0, y, margin, cell, BLACK);
      canvas.write(names[row]!, margin + row * cell, 0, cell, top, BLACK);
    }
    for (const [column, count] of line.entries()) {
      const share = total > 0 ? count / total : 0;
      const x = margin + column * cell;
      const gap = cell > 4 ? 1 : 0;
      canvas.fill(x, y, cell - gap, cell - gap, mix(share));
      if (isNamed) canvas.write(shortCount(count), x, y, cell, cell, share > 0.5 ? WHITE : BLACK);
    }
  }
  const { width, height, pixels } = canvas;
  return { kind: "image", width, height, channels: 3, pixels };
}

/** From nearly white to dark blue. */
const mix = (share: number): Color =>
  [0, 1, 2].map((channel) => Math.round(245 + share * (DARK[channel]! - 245))) as unknown as Color;

/** At most five letters. */
function shortCount(count: number): string {
  if (count >= 1e6) return `${(count / 1e6).toPrecision(2)}M`;
  if (count >= 1e4) return `${Math.round(count / 1e3)}K`;
  return Number.isInteger(count) ? String(count) : count.toPrecision(2);
}
