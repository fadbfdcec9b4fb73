// How an export of the user's becomes what it makes: a function is called, a class constructed.

type Options = Readonly<Record<string, unknown>>;
type Export = (...args: readonly unknown[]) => unknown;
type Class = new (options: Options) => unknown;

const isClass = (value: Export): boolean => /^class\b/.test(Function.prototype.toString.call(value));

/** Calls it with the options and what else there is to know; a class is constructed with its options. */
export function callOwn(from: unknown, options: Options, ...more: readonly unknown[]): unknown {
  const make = from as Export;
  return isClass(make) ? new (make as unknown as Class)(options) : make(options, ...more);
}
