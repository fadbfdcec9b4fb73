// An engine that knows how long its programs ran, so that the time around them can be separated.
import type { Engine } from "../../src/engines/engine.ts";
import { JaxEngine } from "../../src/engines/jax/jax-engine.ts";

export interface TimedEngine extends Engine {
  /** Milliseconds inside programs since the last call. */
  takeProgramTime(): number;
}

export async function timedEngine(): Promise<TimedEngine> {
  const engine = await JaxEngine.create("wasm");
  let inside = 0;
  return {
    name: engine.name,
    syncRead: engine.syncRead,
    readsAtOnce: engine.readsAtOnce,
    put: (host) => engine.put(host),
    read: (buffer) => engine.read(buffer),
    jit(fn, options) {
      const program = engine.jit(fn, options);
      return (...args) => {
        const start = performance.now();
        const out = program(...args);
        inside += performance.now() - start;
        return out;
      };
    },
    copy: (buffer) => engine.copy(buffer),
    free: (buffer) => engine.free(buffer),
    close: () => engine.close(),
    takeProgramTime() {
      const taken = inside;
      inside = 0;
      return taken;
    },
  };
}
