// A terminal's screen, with its colours, as a picture.
import { escaped, px, svg } from "./svg.ts";

const [CHAR, LINE, PAD, BAR] = [8.4, 19, 16, 30];
const COLORS: Readonly<Record<number, string>> = { 31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 36: "#76e3ea" };
const PLAIN = "#e6edf3";

interface Style {
  readonly color: string;
  readonly bold: boolean;
  readonly dim: boolean;
}
const NO_STYLE: Style = { color: PLAIN, bold: false, dim: false };

function styled(style: Style, code: number): Style {
  if (code === 0) return NO_STYLE;
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 22) return { ...style, bold: false, dim: false };
  if (code === 39) return { ...style, color: PLAIN };
  return code in COLORS ? { ...style, color: COLORS[code]! } : style;
}

/** One piece of a line in one style. Its length is fixed, so that columns stay columns in whatever font there is. */
function piece(text: string, column: number, row: number, { color, bold, dim }: Style): string {
  const look = `fill="${color}"${bold ? ' font-weight="bold"' : ""}${dim ? ' opacity="0.6"' : ""}`;
  const place = `x="${px(PAD + column * CHAR)}" y="${px(BAR + PAD + (row + 0.75) * LINE)}"`;
  return `<text ${place} ${look} textLength="${px(text.length * CHAR)}" lengthAdjust="spacingAndGlyphs">${escaped(text)}</text>`;
}

/** Words are pieces of their own: blanks need no ink, and SVG would join several of them. */
function line(text: string, row: number): string[] {
  const pieces: string[] = [];
  let style = NO_STYLE;
  let column = 0;
  // oxlint-disable-next-line no-control-regex -- escape codes are control characters
  for (const [token, codes] of text.matchAll(/\u001B\[([\d;]*)m|[^\u001B\s]+|\s+/g)) {
    if (codes !== undefined) {
      style = codes.split(";").map(Number).reduce(styled, style);
      continue;
    }
    if (token.trim() !== "") pieces.push(piece(token, column, row, style));
    column += token.length;
  }
  return pieces;
}

export function terminalSvg(screen: string, columns: number, title: string): string {
  const lines = screen.split("\n");
  const [width, height] = [2 * PAD + columns * CHAR, BAR + 2 * PAD + lines.length * LINE];
  return svg(width, height, title, [
    `<rect width="${px(width)}" height="${px(height)}" rx="8" fill="#0d1117"/>`,
    ...["#ff5f57", "#febc2e", "#28c840"].map(
      (color, i) => `<circle cx="${20 + 18 * i}" cy="18" r="5.5" fill="${color}"/>`,
    ),
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">`,
    `<text x="${px(width / 2)}" y="23" fill="#8b949e" text-anchor="middle">${escaped(title)}</text>`,
    ...lines.flatMap(line),
    "</g>",
  ]);
}
