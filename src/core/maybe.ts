// Synchronous when it can be: values that may or may not be promises, without paying a promise for plain ones.
import type { MaybePromise } from "./model.ts";

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === "function";
}

/** `f(value)`, now or when the value is there. */
export function chain<T, U>(value: MaybePromise<T>, f: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return isPromise(value) ? value.then(f) : f(value);
}

/** All the values, now or when the last is there. */
export function all<T>(values: readonly MaybePromise<T>[]): MaybePromise<T[]> {
  return values.some((value) => isPromise(value)) ? Promise.all(values as Promise<T>[]) : (values as T[]);
}

/** Calls `f`, whose failure goes to `fail` whether it is thrown or rejected. */
export function guard<T>(f: () => MaybePromise<T>, fail: (cause: unknown) => never): MaybePromise<T> {
  let value: MaybePromise<T>;
  try {
    value = f();
  } catch (cause) {
    return fail(cause);
  }
  return isPromise(value) ? value.catch(fail) : value;
}

/** Marks a rejection as seen, so that a promise that nobody will await cannot crash the process. */
export function quiet(value: unknown): void {
  if (isPromise(value)) value.catch(() => {});
}

/** The message of anything thrown. */
export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
