// Cividis: a scale of colours that looks the same with every kind of colour vision, and in print.

const STOPS: readonly (readonly [number, number, number])[] = [
  [0, 34, 78],
  [18, 53, 112],
  [59, 73, 108],
  [87, 93, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [225, 204, 85],
  [254, 232, 56],
];

/** From 0 to 1. */
export function cividis(part: number): readonly [number, number, number] {
  const at = Math.min(1, Math.max(0, part)) * (STOPS.length - 1);
  const low = STOPS[Math.floor(at)]!;
  const high = STOPS[Math.ceil(at)]!;
  const mix = (i: 0 | 1 | 2): number => Math.round(low[i] + (high[i] - low[i]) * (at % 1));
  return [mix(0), mix(1), mix(2)];
}
