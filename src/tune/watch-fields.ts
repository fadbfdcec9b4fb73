// Which fields of a hook were set in this process, and an error for one that was set only in another: it is not here.
//
// The hook stays the object that it is, with its private fields: its own fields become accessors, and what it does not have
// is looked up in a prototype that watches.
import { ContextError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";

export interface WatchedFields {
  /** Set here since the hook was made, or grown if they are lists and the like. */
  readonly changed: readonly string[];
  /** Reading one of these here is an error from now on, unless it was set here too. */
  setElsewhere(fields: readonly string[]): void;
}

/** What became longer has been changed, although nobody has set it. */
function sizeOf(value: unknown): number | undefined {
  if (Array.isArray(value)) return value.length;
  if (value instanceof Map || value instanceof Set) return value.size;
  const isPlain = typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return isPlain ? Object.keys(value).length : undefined;
}

/** @param where the two processes, for the message */
export function watchFields(hook: Hook, where: { readonly here: string; readonly there: string }): WatchedFields {
  const values = new Map<string, unknown>();
  const sizes = new Map<string, number | undefined>();
  const set = new Set<string>();
  const elsewhere = new Set<string>();

  const isChanged = (key: string): boolean =>
    set.has(key) || (values.has(key) && sizeOf(values.get(key)) !== sizes.get(key));
  const checkRead = (key: string): void => {
    if (!elsewhere.has(key) || isChanged(key)) return;
    throw new ContextError(
      `\`${key}\` of hook \`${hook.name}\` was set in ${where.there}, and is read in ${where.here}, where it never was: the hook is made in each of them. They share what is reported, and \`trial.stash\`: put it there.`,
    );
  };
  const own = (key: string, value: unknown): void => {
    values.set(key, value);
    Object.defineProperty(hook, key, {
      configurable: true,
      enumerable: true,
      get() {
        checkRead(key);
        return values.get(key);
      },
      set(next: unknown) {
        set.add(key);
        values.set(key, next);
      },
    });
  };

  for (const [key, { value, writable, configurable }] of Object.entries(Object.getOwnPropertyDescriptors(hook))) {
    // Names and methods are the same everywhere.
    if (!writable || !configurable || key === "name" || typeof value === "function") continue;
    sizes.set(key, sizeOf(value));
    own(key, value);
  }
  if (Object.isExtensible(hook))
    Object.setPrototypeOf(
      hook,
      watchingPrototype(hook, checkRead, (key, value) => {
        set.add(key);
        own(key, value);
      }),
    );
  return {
    get changed() {
      return [...new Set([...set, ...values.keys()])].filter(isChanged);
    },
    setElsewhere(fields) {
      for (const field of fields) elsewhere.add(field);
    },
  };
}

/** Sees reads and writes of what the hook does not have itself. */
function watchingPrototype(
  hook: Hook,
  checkRead: (key: string) => void,
  add: (key: string, value: unknown) => void,
): object {
  // Before that of its class, so that it stays an instance of it.
  return new Proxy(Object.create(Object.getPrototypeOf(hook) as object) as object, {
    get(target, key, receiver) {
      if (typeof key === "string") checkRead(key);
      return Reflect.get(target, key, receiver) as unknown;
    },
    set(target, key, value, receiver) {
      // A setter of its class does what it does.
      if (typeof key !== "string" || receiver !== hook || key in target)
        return Reflect.set(target, key, value, receiver);
      add(key, value);
      return true;
    },
  });
}
