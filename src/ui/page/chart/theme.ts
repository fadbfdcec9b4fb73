// The colours of canvases. They are variables of the stylesheet, so that light and dark are defined in one place.
import { signal } from "@preact/signals";

export interface Theme {
  readonly ink: string;
  readonly soft: string;
  readonly rule: string;
  readonly paper: string;
  readonly hand: string;
  readonly hook: string;
  readonly lines: readonly string[];
  readonly font: string;
}

/** Colours repeat after eight; then a line is dashed. */
const LINES = 8;
const DASHES: readonly (readonly number[])[] = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

function read(): Theme {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: color("ink"),
    soft: color("soft"),
    rule: color("rule"),
    paper: color("paper"),
    hand: color("hand"),
    hook: color("hook"),
    lines: Array.from({ length: LINES }, (_, i) => color(`line-${i}`)),
    font: '11px system-ui, "Segoe UI", sans-serif',
  };
}

/** Changes with the system's setting. */
export const theme = signal<Theme>(read());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  theme.value = read();
});

export const lineColor = (index: number): string => theme.value.lines[index % LINES]!;
export const lineDash = (index: number): number[] => [...DASHES[Math.floor(index / LINES) % DASHES.length]!];
