// What is wrong with a config, gathered so that one reading shows all of it.
import { redact, secretsOfEnvironment } from "../../platform/redact.ts";
import { ConfigError, type ConfigPath } from "../config/config-error.ts";
import { configError, type ConfigDocument } from "../config/document.ts";

/** A part says whose option it is; of one of the config itself the place says it already. */
const withoutOwner = (message: string): string =>
  message.replace(/^config: (.)/, (_, first: string) => first.toUpperCase());

/** Several unknown options of one owner: what it knows is said with the first. */
function listOnce(errors: readonly ConfigError[]): void {
  const said = new Set<string>();
  for (const error of errors) {
    const known = / Known options: .*$/.exec(error.message)?.[0];
    if (known === undefined) continue;
    if (said.has(known)) error.message = error.message.slice(0, -known.length);
    said.add(known);
  }
}

export class Problems {
  readonly doc: ConfigDocument;
  /** Is it about to run? Then what is missing around it is a problem as well. */
  readonly forRun: boolean;
  readonly #errors: ConfigError[] = [];

  constructor(doc: ConfigDocument, forRun = false) {
    this.doc = doc;
    this.forRun = forRun;
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
    if (this.#errors.length === 0) return;
    const sorted = this.#errors.toSorted((a, b) => line(a) - line(b));
    listOnce(sorted);
    throw ConfigError.of(sorted);
  }

  #keep(path: ConfigPath, error: unknown): void {
    // One that knows its place is told as it is; one of a check that does not know it is told of this one.
    if (error instanceof ConfigError && error.position !== undefined) this.#errors.push(error);
    else this.add(path, error instanceof Error ? withoutOwner(error.message) : `it threw ${String(error)}`, error);
  }
}
