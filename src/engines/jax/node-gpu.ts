// WebGPU in Node: the package `webgpu` (Dawn, the WebGPU of Chromium), placed where jax-js looks for a browser's.
import { optionalPackage } from "../../platform/optional-package.ts";

interface Dawn {
  create(options: readonly string[]): object;
  /** `GPUBufferUsage` and the like, which browsers have as globals. */
  readonly globals: Readonly<Record<string, unknown>>;
}

/** Gives the process a `navigator.gpu`. */
export async function provideGpu(): Promise<void> {
  const { create, globals } = await optionalPackage<Dawn>(`Engine "webgpu"`, "webgpu", ["webgpu@0.6"]);
  for (const [name, value] of Object.entries(globals)) if (!(name in globalThis)) define(globalThis, name, value);
  // jax-js reads `navigator.userAgent`, too. Node 20 has no navigator.
  if (!globalThis.navigator) define(globalThis, "navigator", { userAgent: `Node.js/${process.versions.node}` });
  define(globalThis.navigator, "gpu", create([]));
}

function define(on: object, name: string, value: unknown): void {
  Object.defineProperty(on, name, { value, configurable: true, writable: true, enumerable: false });
}
