// The error of a config: which file and line, which key, what was expected and what is there.
import { HooklineError } from "../../core/errors.ts";

/** A place in a file, both from 1. A value that a module made, or `--set`, has no line: there the file, or the flag, is all. */
export interface Position {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
}

/** Keys and indices from the root of the config: `["optimizer", "lr"]`. */
export type ConfigPath = readonly (string | number)[];

const showPath = (path: ConfigPath): string => path.join(".");

/** `file:line:column`, as terminals and editors link it. */
const showPosition = ({ file, line, column }: Position): string =>
  [file, line, column].filter((part) => part !== undefined).join(":");

/** A config that cannot be read or is not valid. Nothing has run and nothing has been written. */
export class ConfigError extends HooklineError {
  override name = "ConfigError";
  readonly path: string;
  readonly position: Position | undefined;
  /** Each by itself, where a config has several: their messages are the lines of this one's. */
  readonly errors: readonly ConfigError[] = [];

  /** @param message what was expected, what is there, and the nearest name; file, line and path are put before it */
  constructor(message: string, path: ConfigPath = [], position?: Position, options?: ErrorOptions) {
    super([position && showPosition(position), showPath(path), message].filter(Boolean).join(": "), options);
    this.path = showPath(path);
    this.position = position;
  }

  /** One error for all of these: the first tells where, and the message has them all. */
  static of(errors: readonly ConfigError[]): ConfigError {
    const [first, ...others] = errors;
    if (others.length === 0) return first!;
    const all = new ConfigError(errors.map(({ message }) => message).join("\n"), [], undefined, { cause: first });
    return Object.assign(all, { path: first!.path, position: first!.position, errors });
  }
}

// How a check makes its error: who calls it knows the place in the config, the check does not.

export type Fail = (message: string, cause?: unknown) => ConfigError;

/** For what is not of a config. */
export const failWithoutPlace: Fail = (message, cause) =>
  new ConfigError(message, [], undefined, cause === undefined ? undefined : { cause });

/** A message of a parser as a sentence. */
export const sentence = (message: string): string => `${message.replace(/[.!?\s]+$/, "")}.`;
