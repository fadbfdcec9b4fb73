// What goes to stdout: the answer and nothing else, so that it can be piped.
import { toJson } from "../../runs/exact-json.ts";
import { printError, printOut } from "../../platform/print.ts";
import { isStyled } from "./paint.ts";

export const print = (text: string): void => printOut(`${text}\n`, isStyled(process.stdout));

/** What a person should know beside the answer. */
export const say = (text: string): void => printError(`${text}\n`, isStyled(process.stderr));

/** One JSON document. Errors are their names and messages; numbers that JSON lacks are strings. */
export const printJson = (value: unknown): void => print(toJson(withErrors(value), 2));

function withErrors(value: unknown): unknown {
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (Array.isArray(value)) return value.map(withErrors);
  if (typeof value !== "object" || value === null) return value;
  if (ArrayBuffer.isView(value)) return Array.from(value as Float64Array);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withErrors(inner)]));
}

/**
 * From here on whatever is written to stdout goes to stderr, whoever writes it: a hook's console.log must not get
 * between the lines of a JSON document. Returns the undo.
 */
export function keepStdoutFree(): () => void {
  const { stdout, stderr } = process;
  const { write } = stdout;
  stdout.write = stderr.write.bind(stderr);
  return () => void (stdout.write = write);
}

/** `hookline runs | head`, or a terminal that was closed: a reader that is gone is no error, and ends no run. */
export function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    });
}
