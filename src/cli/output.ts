// What a command prints. Only its result goes to stdout, so that it can be piped; everything else goes to stderr.
import { toJson } from "../runs/exact-json.ts";
import { printError, printOut } from "../platform/print.ts";
import { styleText } from "node:util";
import { surroundings, wantsColor } from "../terminal/style.ts";
import { relative, resolve, sep } from "node:path";

export const print = (text: string): void => printOut(`${text}\n`, isStyled(process.stdout));

/** Prints a message to stderr. */
export const say = (text: string): void => printError(`${text}\n`, isStyled(process.stderr));

/** Prints one JSON document. Errors become their names and messages; numbers that JSON lacks become strings. */
export const printJson = (value: unknown): void => print(toJson(withErrors(value), 2));

function withErrors(value: unknown): unknown {
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (Array.isArray(value)) return value.map(withErrors);
  if (typeof value !== "object" || value === null) return value;
  if (ArrayBuffer.isView(value)) return Array.from(value as Float64Array);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withErrors(inner)]));
}

/**
 * Redirects stdout to stderr, so that a hook's console.log does not end up inside a JSON document. Returns a function
 * that undoes it.
 */
export function keepStdoutFree(): () => void {
  const { stdout, stderr } = process;
  const { write } = stdout;
  stdout.write = stderr.write.bind(stderr);
  return () => void (stdout.write = write);
}

/** A reader that is gone (`hookline runs | head`, a closed terminal) is no error, and ends no run. */
export function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    });
}

type Style = Parameters<typeof styleText>[0];

/** Whether this stream shows styles: not a file, not a pipe, and not with NO_COLOR. */
export function isStyled(stream: NodeJS.WriteStream): boolean {
  const around = surroundings();
  return around !== undefined && wantsColor({ ...around, isTTY: stream.isTTY });
}

/** The text in a style, if this stream shows styles. */
export const paint = (stream: NodeJS.WriteStream, style: Style, text: string): string =>
  isStyled(stream) ? styleText(style, text) : text;

/** `launch` sets this for itself and its ranks: its own part of the command line. */
export const LAUNCH_VARIABLE = "HOOKLINE_LAUNCH";

/** A command as a hint names it: with `npx`, so that it also works if hookline is only a dependency of the project. */
export const typed = (command: string): string => `npx hookline ${command}`;

/** The command that resumes a run, with as many processes as this one has. */
export function typedResume(runDir: string): string {
  const launch = process.env[LAUNCH_VARIABLE];
  return typed(`${launch === undefined ? "" : `${launch} `}resume ${runDir}`);
}

/** A path relative to the current directory, unless it is outside of it. */
export function shownPath(path: string): string {
  const way = relative(process.cwd(), resolve(path)) || ".";
  return way.startsWith("..") ? resolve(path) : way;
}

/** Makes the paths in a text relative to the current directory. */
export const shortPaths = (text: string): string => text.replaceAll(`${process.cwd()}${sep}`, "");
