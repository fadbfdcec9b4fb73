// Places for the buffers between steps: two that are never needed at the same time share theirs.
import { touched } from "./inside.ts";
import type { Plan } from "./steps.ts";

const ALIGN = 64;

export interface Arena {
  /** Byte offsets by buffer; undefined for those that are not temporary. */
  readonly offsets: readonly (number | undefined)[];
  readonly bytes: number;
}

export function planArena({ buffers, steps }: Plan): Arena {
  const lives = new Map<number, { from: number; to: number }>();
  for (const [i, step] of steps.entries()) {
    for (const buffer of touched(step)) {
      if (buffers[buffer]!.source.kind !== "temporary") continue;
      const life = lives.get(buffer);
      if (life) life.to = i;
      else lives.set(buffer, { from: i, to: i });
    }
  }
  const offsets: (number | undefined)[] = buffers.map(() => undefined);
  const placed: { at: number; end: number; from: number; to: number }[] = [];
  // The largest first: the small ones find room between them.
  const order = [...lives].sort(([a], [b]) => buffers[b]!.length - buffers[a]!.length);
  for (const [buffer, { from, to }] of order) {
    const bytes = Math.ceil((buffers[buffer]!.length * 4) / ALIGN) * ALIGN;
    const busy = placed.filter((other) => other.from <= to && from <= other.to).sort((a, b) => a.at - b.at);
    let at = 0;
    for (const other of busy) {
      if (other.at - at >= bytes) break;
      at = Math.max(at, other.end);
    }
    placed.push({ at, end: at + bytes, from, to });
    offsets[buffer] = at;
  }
  return { offsets, bytes: placed.reduce((most, { end }) => Math.max(most, end), 0) };
}
