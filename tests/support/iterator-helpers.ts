// jax-js's einsum uses helpers of iterators, which Node 20 does not have. Import this before calling it.
const iterator = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())) as Record<string, unknown>;
for (const name of ["map", "filter"] as const) {
  iterator[name] ??= function (this: Iterable<unknown>, fn: (x: unknown) => unknown): unknown[] {
    return Array.from(this)[name](fn);
  };
}
iterator["toArray"] ??= function (this: Iterable<unknown>): unknown[] {
  return Array.from(this);
};
