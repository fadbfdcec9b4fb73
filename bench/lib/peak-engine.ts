// The native engine, watched: the most memory that buffers and programs had at the end of a program.
import type { Engine } from "../../src/engines/engine.ts";
import { NativeEngine } from "../../src/engines/native/native-engine.ts";

export interface PeakEngine extends Engine {
  readonly peakBytes: number;
  readonly bytesInUse: number;
  readonly compileSeconds: number;
}

export function peakEngine(threads = 2): PeakEngine {
  const engine = new NativeEngine({ threads });
  let peakBytes = 0;
  return {
    name: engine.name,
    syncRead: engine.syncRead,
    put: (host) => engine.put(host),
    read: (buffer) => engine.read(buffer),
    jit(fn, options) {
      const program = engine.jit(fn, options);
      return (...args) => {
        const out = program(...args);
        peakBytes = Math.max(peakBytes, engine.bytesInUse);
        return out;
      };
    },
    copy: (buffer) => engine.copy(buffer),
    free: (buffer) => engine.free(buffer),
    close: () => engine.close(),
    get peakBytes() {
      return peakBytes;
    },
    get bytesInUse() {
      return engine.bytesInUse;
    },
    get compileSeconds() {
      return engine.compileSeconds;
    },
  };
}
