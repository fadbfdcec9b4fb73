// Functions that hooks pass to be compiled. One that is written inside the hook's method is another function at every
// call, so it is compiled at every call: correct, and slow without a word.

/** Each new function costs a compilation; more than this many from one hook is probably a mistake. */
const MANY_FUNCTIONS = 8;

export class FunctionWatch {
  readonly #warn: (message: string) => void;
  readonly #hook: () => string | undefined;
  readonly #seen = new Map<string, { readonly functions: WeakSet<object>; count: number }>();

  /** `hook` names the hook whose turn it is. */
  constructor(warn: (message: string) => void, hook: () => string | undefined) {
    this.#warn = warn;
    this.#hook = hook;
  }

  /** A hook passes `fn` to `ctx.verb`. Warns once for each hook and verb. */
  note(verb: string, fn: object): void {
    const hook = this.#hook();
    const key = `${hook}|${verb}`;
    let seen = this.#seen.get(key);
    if (!seen) this.#seen.set(key, (seen = { functions: new WeakSet(), count: 0 }));
    if (seen.functions.has(fn)) return;
    seen.functions.add(fn);
    if (++seen.count !== MANY_FUNCTIONS + 1) return;
    const who = hook === undefined ? "This program" : `Hook \`${hook}\``;
    this.#warn(
      `${who} has passed ${seen.count} different functions to ctx.${verb}. Each is compiled anew, even if its text is the same. Create the function once, outside the hook's method, and pass that one every time.`,
    );
  }
}
