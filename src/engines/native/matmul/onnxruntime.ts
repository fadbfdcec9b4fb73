// The native part of onnxruntime-node. Its own `run` waits for a turn of the event loop; what is beneath it does not.
import { EngineError } from "../../../core/errors.ts";
import { builtin } from "../../../platform/builtin.ts";

export interface Tensor {
  readonly data: Float32Array;
}

interface NativeSession {
  loadModel(model: ArrayBufferLike, offset: number, length: number, options: object): void;
  run(feeds: Record<string, Tensor>, fetches: Record<string, Tensor>, options: object): Record<string, Tensor>;
  dispose(): void;
}

export interface Onnxruntime {
  readonly version: string;
  /** On the thread that calls it: the pools that sessions have of their own cost more than they give. */
  session(model: Uint8Array): NativeSession;
  tensor(data: Float32Array, shape: readonly number[]): Tensor;
}

interface Common {
  readonly Tensor: new (type: string, data: Float32Array, shape: readonly number[]) => Tensor;
  readonly env: { readonly versions: { readonly common?: string; readonly node?: string } };
}

interface Binding {
  readonly binding: { readonly InferenceSession: new () => NativeSession };
  initOrt(): void;
}

const WAY_OUT = `Install it with \`npm install onnxruntime-node@1.30\` (where downloads are blocked: ONNXRUNTIME_NODE_INSTALL=skip), or use engine: "wasm".`;

let loaded: Onnxruntime | undefined;

/** Loads it once; throws an EngineError that says what to install. */
export function loadOnnxruntime(): Onnxruntime {
  loaded ??= load();
  return loaded;
}

function load(): Onnxruntime {
  const { createRequire } = builtin<{ createRequire(from: string): (name: string) => unknown }>(
    `Engine "native"`,
    "node:module",
  );
  const require = createRequire(import.meta.url);
  let common: Common;
  let native: Binding;
  try {
    common = require("onnxruntime-node") as Common;
    native = require("onnxruntime-node/dist/binding.js") as Binding;
    if (typeof native.binding?.InferenceSession === "function") native.initOrt();
  } catch (cause) {
    const missing = (cause as { code?: string }).code === "MODULE_NOT_FOUND";
    throw new EngineError(
      `Engine "native": onnxruntime-node ${missing ? "is not installed" : "cannot be loaded"}. ${WAY_OUT}`,
      { cause },
    );
  }
  if (typeof native.binding?.InferenceSession !== "function") {
    throw new EngineError(`Engine "native": this version of onnxruntime-node is built otherwise than 1.30. ${WAY_OUT}`);
  }
  return {
    version: common.env.versions.node ?? common.env.versions.common ?? "unknown",
    session(model) {
      const session = new native.binding.InferenceSession();
      session.loadModel(model.buffer, model.byteOffset, model.byteLength, {
        intraOpNumThreads: 1,
        interOpNumThreads: 1,
        executionMode: "sequential",
        graphOptimizationLevel: "all",
      });
      return session;
    },
    tensor: (data, shape) => new common.Tensor("float32", data, shape),
  };
}
