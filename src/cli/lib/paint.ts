// Colour for people: none in a file, in a pipe, or where NO_COLOR asks for none.
import { styleText } from "node:util";
import { surroundings, wantsColor } from "../../terminal/env.ts";

type Style = Parameters<typeof styleText>[0];

/** The text in a style, if this output shows styles. */
export function paint(stream: NodeJS.WriteStream, style: Style, text: string): string {
  const around = surroundings();
  return around && wantsColor({ ...around, isTTY: stream.isTTY }) ? styleText(style, text) : text;
}
