// How much room a text takes on a terminal, and how to make it take less.

/** Colours, cursor movements, links: they take no room. */
// oxlint-disable-next-line no-control-regex -- escape codes are control characters
const ESCAPES = /\u001B(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)|[@-Z\\-_])/g;
// oxlint-disable-next-line no-control-regex -- as above
const NO_ROOM = /[\p{M}\p{Cf}\u0000-\u001F\u007F-\u009F]/u;
/** East Asian wide characters and emoji, roughly. */
const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u;

const withoutEscapes = (text: string): string => text.replaceAll(ESCAPES, "");

function charWidth(char: string): number {
  if (char >= " " && char <= "~") return 1;
  if (NO_ROOM.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}

/** Nothing but what takes one column each: most texts by far. */
const SIMPLE = /^[ -~]*$/;

/** Columns that a line takes. */
export function textWidth(text: string): number {
  if (SIMPLE.test(text)) return text.length;
  let width = 0;
  for (const char of withoutEscapes(text)) width += charWidth(char);
  return width;
}

/** At most `columns` wide. A truncated text ends in a mark and loses its escape codes. */
export function truncate(text: string, columns: number, mark = "…"): string {
  if (textWidth(text) <= columns) return text;
  const room = columns - textWidth(mark);
  if (room < 0) return mark.slice(0, Math.max(0, columns));
  let cut = "";
  let width = 0;
  for (const char of withoutEscapes(text)) {
    width += charWidth(char);
    if (width > room) break;
    cut += char;
  }
  return cut + mark;
}
