// Matrix products by onnxruntime, on the engine's memory: nothing is copied on the way in or out.
import { sizeOf } from "../../core/arrays.ts";
import { type CompiledContraction, type Contraction, describeContraction } from "./plan/contract.ts";
import type { Convolution } from "./conv/convolution.ts";
import { blockProbe, convolutionModel } from "./conv/model.ts";
import { attribute, LEFT, type Model, model, numbers, operation, OUT, RIGHT } from "./model.ts";
import { EngineError } from "../../core/errors.ts";
import { builtin } from "../../platform/builtin.ts";

/** Where the numbers lie: a plain buffer, another one once memory has grown. */
interface Numbers {
  readonly plain: ArrayBuffer;
}

/** Of one shape: buffers take turns, so the same few addresses come again. */
const MOST_TENSORS = 64;

/** Compiles each kind of product once, for all programs of an engine on one thread. */
export class Products {
  readonly #runtime: Onnxruntime;
  readonly #memory: Numbers;
  readonly #compiled = new Map<string, CompiledContraction>();
  readonly #sessions: { dispose(): void }[] = [];

  constructor(memory: Numbers) {
    this.#runtime = loadOnnxruntime();
    this.#memory = memory;
  }

  compile(contraction: Contraction): CompiledContraction {
    return this.#known(describeContraction(contraction), () => productModel(contraction), NO_ARENA);
  }

  /** The image is the left side, the kernel the right one. */
  convolve(convolution: Convolution): CompiledContraction {
    return this.#known(JSON.stringify(convolution), () => convolutionModel(convolution, this.#channelsInBlock()));
  }

  #known(key: string, modelOf: () => Model, options?: object): CompiledContraction {
    let compiled = this.#compiled.get(key);
    if (!compiled) {
      compiled = this.#new(modelOf(), options);
      this.#compiled.set(key, compiled);
    }
    return compiled;
  }

  /** 0 where onnxruntime has no kernels for blocks of channels: which it has depends on the processor. */
  #channelsInBlock(): number {
    blockSize ??= measuredBlock(this.#runtime);
    return blockSize;
  }

  #new({ bytes, shapes }: Model, options?: object): CompiledContraction {
    const session = this.#runtime.session(bytes, options);
    this.#sessions.push(session);
    const left = this.#tensors(shapes.left);
    const right = this.#tensors(shapes.right);
    const out = this.#tensors(shapes.out);
    const feeds: Record<string, Tensor> = {};
    const fetches: Record<string, Tensor> = {};
    return {
      run(leftAt, rightAt, outAt) {
        feeds[LEFT] = left(leftAt);
        feeds[RIGHT] = right(rightAt);
        fetches[OUT] = out(outAt);
        session.run(feeds, fetches, {});
      },
    };
  }

  /** Tensors of one shape by address. */
  #tensors(shape: readonly number[]): (at: number) => Tensor {
    const known = new Map<number, Tensor>();
    const length = sizeOf(shape);
    const memory = this.#memory;
    let buffer = memory.plain;
    return (at) => {
      const { plain } = memory;
      // Memory that has grown is another buffer.
      if (buffer !== plain || known.size > MOST_TENSORS) {
        known.clear();
        buffer = plain;
      }
      let tensor = known.get(at);
      if (!tensor) {
        tensor = this.#runtime.tensor(new Float32Array(plain, at, length), shape);
        known.set(at, tensor);
      }
      return tensor;
    };
  }

  close(): void {
    for (const session of this.#sessions.splice(0)) session.dispose();
    this.#compiled.clear();
  }
}

/** Each session would keep the memory that it once took for some rows of a side. */
const NO_ARENA = { enableCpuMemArena: false };

/** What is missing is no error here. */
const SILENT = { logSeverityLevel: 4 };

/** Of this processor, once it is known. */
let blockSize: number | undefined;

function measuredBlock(runtime: Onnxruntime): number {
  const { bytes, shapes } = blockProbe();
  try {
    const session = runtime.session(bytes, SILENT);
    const numbers = runtime.tensor(
      Float32Array.from({ length: sizeOf(shapes.left) }, (_, i) => i),
      shapes.left,
    );
    const out = runtime.tensor(new Float32Array(sizeOf(shapes.out)), shapes.out);
    session.run({ [LEFT]: numbers, [RIGHT]: runtime.tensor(new Float32Array(1), [1]) }, { [OUT]: out }, {});
    session.dispose();
    return Math.max(out.data.indexOf(1), 0);
  } catch {
    return 0;
  }
}

// The ONNX model of one matrix product.

function productModel(c: Contraction): Model {
  const batch = c.batch === 1 ? [] : [c.batch];
  const shapes = {
    left: [...batch, ...(c.leftTransposed ? [c.inner, c.among?.rows ?? c.rows] : [c.rows, c.inner])],
    right: [...batch, ...(c.rightTransposed ? [c.columns, c.inner] : [c.inner, c.columns])],
    out: [...batch, c.rows, c.columns],
  };
  const sides = [attribute("transA", Number(c.leftTransposed)), attribute("transB", Number(c.rightTransposed))];
  const product = (left: string) => operation("FusedMatMul", [left, RIGHT], OUT, sides, "com.microsoft");
  if (!c.among) return model(shapes, [product(LEFT)]);
  // Copied first, which is little beside the product.
  const { begin } = c.among;
  const some = operation("Slice", [LEFT, "begin", "end", "axis"], "some");
  const range = [numbers("begin", [begin]), numbers("end", [begin + c.rows]), numbers("axis", [1])];
  return model(shapes, [some, product("some")], range);
}

// The native part of onnxruntime-node. Its own `run` waits for a turn of the event loop; what is beneath it does not.

interface Tensor {
  readonly data: Float32Array;
}

interface NativeSession {
  loadModel(model: ArrayBufferLike, offset: number, length: number, options: object): void;
  run(feeds: Record<string, Tensor>, fetches: Record<string, Tensor>, options: object): Record<string, Tensor>;
  dispose(): void;
}

interface Onnxruntime {
  readonly version: string;
  /** On the thread that calls it: the pools that sessions have of their own cost more than they give. */
  session(model: Uint8Array, options?: object): NativeSession;
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
function loadOnnxruntime(): Onnxruntime {
  loaded ??= load();
  return loaded;
}

function load(): Onnxruntime {
  const { createRequire } = builtin(`Engine "native"`, "node:module");
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
    session(model, options) {
      const session = new native.binding.InferenceSession();
      session.loadModel(model.buffer, model.byteOffset, model.byteLength, {
        intraOpNumThreads: 1,
        interOpNumThreads: 1,
        executionMode: "sequential",
        graphOptimizationLevel: "all",
        ...options,
      });
      return session;
    },
    tensor: (data, shape) => new common.Tensor("float32", data, shape),
  };
}
