// What is wrong with a config, gathered so that one reading shows all of it.
import { redact, secretsOfEnvironment } from "../../core/redact.ts";
import { ConfigError, type ConfigPath } from "../config/config-error.ts";
import { configError, type ConfigDocument } from "../config/document.ts";

/** A part says whose option it is; of one of the config itself the place says it already. */
const withoutOwner = (message: string): string =>
  message.replace(/^config: (.)/, (_, first: string) => first.toUpperCase());

export class Problems {
  readonly doc: ConfigDocument;
  readonly #errors: ConfigError[] = [];

  constructor(doc: ConfigDocument) {
    this.doc = doc;
  }

  /** The error of a value at `path`. Values come from the environment too: no message shows a secret. */
  at(path: ConfigPath, message: string, cause?: unknown): ConfigError {
    return configError(this.doc, path, redact(message, secretsOfEnvironment()), cause);
  }

  add(path: ConfigPath, message: string, cause?: unknown): void {
    this.#errors.push(this.at(path, message, cause));
  }

  /** What `make` returns, or undefined when it throws: then that is a problem of the value at `path`. */
  attempt<T>(path: ConfigPath, make: () => T): T | undefined {
    try {
      return make();
    } catch (error) {
      this.#keep(path, error);
      return undefined;
    }
  }

  async attemptAsync<T>(path: ConfigPath, make: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await make();
    } catch (error) {
      this.#keep(path, error);
      return undefined;
    }
  }

  /** Throws what was found, all of it, in the order of the file. */
  check(): void {
    const line = ({ position }: ConfigError): number => position?.line ?? 0;
    if (this.#errors.length > 0) throw ConfigError.of(this.#errors.toSorted((a, b) => line(a) - line(b)));
  }

  #keep(path: ConfigPath, error: unknown): void {
    // One that knows its place is told as it is; one of a check that does not know it is told of this one.
    if (error instanceof ConfigError && error.position !== undefined) this.#errors.push(error);
    else this.add(path, error instanceof Error ? withoutOwner(error.message) : `it threw ${String(error)}`, error);
  }
}
