// What both pictures need to write SVG.

export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Pixels, with one digit: more would only make the file larger. */
export const px = (value: number): string => String(Math.round(value * 10) / 10);

export const svg = (width: number, height: number, title: string, body: readonly string[]): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${px(width)} ${px(height)}" width="${px(width)}" height="${px(height)}" role="img">
<title>${escaped(title)}</title>
${body.join("\n")}
</svg>
`;
