// jiti, which reads TypeScript where Node cannot, and finds packages from a directory that is not ours.
// Loaded on first use: it brings a compiler.

/** Nothing is kept on disk: a cache in a temporary directory is code that anyone there could have written. */
export async function jitiFor(file: string): Promise<ReturnType<(typeof import("jiti"))["createJiti"]>> {
  // A bundler for browsers must not find it.
  const name: string = "jiti";
  const { createJiti } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as typeof import("jiti");
  return createJiti(file, { fsCache: false, interopDefault: false });
}
