// The only place that prints, besides the live lines of src/terminal: a test keeps it so. Whatever is printed passes the
// sanitizer, since names, reasons and messages come from files and from other programs.
import { safeText } from "../core/safe-text.ts";

interface Stream {
  write(text: string): unknown;
}

interface Streams {
  readonly stdout: Stream;
  readonly stderr: Stream;
}

const streams = (): Streams => (globalThis as unknown as { readonly process: Streams }).process;

/** The styles that hookline itself puts into a text. */
// oxlint-disable-next-line no-control-regex -- escape codes are control characters
const STYLES = /(\u001B\[(?:0|1|2|22|3[1-6]|39)m)/;

/** A text as it may be printed; `styled` texts keep colours. */
export function printable(text: string, styled: boolean): string {
  if (!styled) return safeText(text);
  return text
    .split(STYLES)
    .map((part, i) => (i % 2 === 1 ? part : safeText(part)))
    .join("");
}

export const printOut = (text: string, styled = false): void => void streams().stdout.write(printable(text, styled));

export const printError = (text: string, styled = false): void => void streams().stderr.write(printable(text, styled));

/** For what also runs in browsers. */
export const printLine = (text: string): void => console.log(safeText(text));

/** The same for warnings. */
export const printWarning = (message: string): void => console.warn(safeText(`hookline: ${message}`));

/** For an error that ends the process, in which Node would print it raw. */
export const printFailure = (text: string): void => console.error(safeText(text));

/** A hook's warning: to the trainer's option `warn`, else to the console like the trainer's own. */
export function warnUser(config: { readonly warn?: unknown }, message: string): void {
  if (typeof config.warn === "function") (config.warn as (message: string) => void)(message);
  else printWarning(message);
}
