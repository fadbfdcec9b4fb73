// The error of a config: file and line, key, what was expected and what was found.
import { HooklineError } from "../../core/errors.ts";

/** A position in a file, counted from 1. A value from a module or from `--set` has no line, only the file or the flag. */
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
  /** The separate errors, if there are several; the message of this one has them all, a line each. */
  readonly errors: readonly ConfigError[] = [];

  /** @param message what was expected, what was found, and the nearest name; file, line and path are put before it */
  constructor(message: string, path: ConfigPath = [], position?: Position, options?: ErrorOptions) {
    super([position && showPosition(position), showPath(path), message].filter(Boolean).join(": "), options);
    this.path = showPath(path);
    this.position = position;
  }

  /** Several errors as one: it has the position of the first and the messages of all. */
  static of(errors: readonly ConfigError[]): ConfigError {
    const [first, ...others] = errors;
    if (others.length === 0) return first!;
    const all = new ConfigError(errors.map(({ message }) => message).join("\n"), [], undefined, { cause: first });
    return Object.assign(all, { path: first!.path, position: first!.position, errors });
  }
}

/** Makes the error of a check: the caller knows the position in the config, the check does not. */
export type Fail = (message: string, cause?: unknown) => ConfigError;

/** For callers without a config. */
export const failWithoutPlace: Fail = (message, cause) =>
  new ConfigError(message, [], undefined, cause === undefined ? undefined : { cause });

/** A message of a parser as a sentence. */
export const sentence = (message: string): string => `${message.replace(/[.!?\s]+$/, "")}.`;
