// Colour for people: none in a file, in a pipe, or where NO_COLOR asks for none.
import { styleText } from "node:util";
import { surroundings, wantsColor } from "../../terminal/env.ts";

type Style = Parameters<typeof styleText>[0];

/** Whether this output shows styles. */
export function isStyled(stream: NodeJS.WriteStream): boolean {
  const around = surroundings();
  return around !== undefined && wantsColor({ ...around, isTTY: stream.isTTY });
}

/** The text in a style, if this output shows styles. */
export const paint = (stream: NodeJS.WriteStream, style: Style, text: string): string =>
  isStyled(stream) ? styleText(style, text) : text;
