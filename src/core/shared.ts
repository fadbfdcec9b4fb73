// How hooks talk to each other: a map with typed keys, one per trainer.
import { ContextError } from "./errors.ts";

/** A typed key. Export it from the hook that produces the value; consumers import it. */
export interface SharedKey<T> {
  readonly name: string;
  /** Only carries the type; never set. */
  readonly type?: T;
}

/** Makes a key: `export const lossEma = sharedKey<number>("lossEma")`. Two keys of one name are the same key. */
export const sharedKey = <T>(name: string): SharedKey<T> => ({ name });

export class Shared {
  readonly #values = new Map<string, unknown>();

  set<T>(key: SharedKey<T>, value: T): void {
    this.#values.set(key.name, value);
  }

  get<T>(key: SharedKey<T>): T | undefined {
    return this.#values.get(key.name) as T | undefined;
  }

  /** Like `get`, but a missing value is an error that says what there is. */
  need<T>(key: SharedKey<T>): T {
    if (!this.#values.has(key.name)) {
      const known = [...this.#values.keys()].join(", ") || "nothing yet";
      throw new ContextError(
        `No hook has set shared \`${key.name}\`. Set so far: ${known}. Is its producer registered, and does it run before this hook?`,
      );
    }
    return this.#values.get(key.name) as T;
  }

  delete(key: SharedKey<unknown>): void {
    this.#values.delete(key.name);
  }
}
