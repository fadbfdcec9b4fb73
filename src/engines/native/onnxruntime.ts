// onnxruntime-node's library. It is called through its C interface, which writes results where they belong. Without koffi
// it is called through its Node binding, which makes a copy of each result.
import { sizeOf } from "../../core/arrays.ts";
import { EngineError } from "../../core/errors.ts";
import { builtin } from "../../platform/builtin.ts";
import { koffiOrNone, type Koffi, type KoffiFunction, type KoffiLibrary } from "../../platform/koffi.ts";
import { LEFT, type Model, OUT, RIGHT } from "./model.ts";

/** Where the numbers lie: a plain buffer, another one once memory has grown. */
export interface Numbers {
  readonly plain: ArrayBuffer;
}

/** A model on such memory. Addresses are in bytes from its beginning. */
export interface Session {
  run(left: number, right: number, out: number): void;
  dispose(): void;
}

export interface Onnxruntime {
  /** On the thread that calls it: the pools that sessions have of their own cost more than they give. */
  session(model: Model, memory: Numbers): Session;
}

/** Buffers take turns, so a shape sees the same few addresses. */
const MOST_TENSORS = 64;
/** Log only fatal errors: others are thrown. */
const FATAL = 4;

let loaded: Onnxruntime | undefined;

/** Loads it once; throws an EngineError that says what to install. */
export function loadOnnxruntime(): Onnxruntime {
  loaded ??= openLibrary() ?? openBinding();
  return loaded;
}

const nodeRequire = () => builtin(`Engine "native"`, "node:module").createRequire(import.meta.url);

/** Something for each address of a memory, which forgets all when the memory has grown. */
class ByAddress<T> {
  readonly #known = new Map<number, T>();
  readonly #create: (at: number) => T;
  readonly #forget: (created: T) => void;

  constructor(create: (at: number) => T, forget: (created: T) => void = () => {}) {
    this.#create = create;
    this.#forget = forget;
  }

  get(at: number): T {
    let known = this.#known.get(at);
    if (known === undefined) {
      if (this.#known.size > MOST_TENSORS) this.clear();
      known = this.#create(at);
      this.#known.set(at, known);
    }
    return known;
  }

  clear(): void {
    for (const created of this.#known.values()) this.#forget(created);
    this.#known.clear();
  }
}

// The C interface: a table of functions, to which new versions only append.

const VERSION = 17;
/** Places in the table. */
const AT = {
  GetErrorMessage: 2,
  CreateEnv: 3,
  CreateSessionFromArray: 8,
  Run: 9,
  CreateSessionOptions: 10,
  DisableMemPattern: 17,
  DisableCpuMemArena: 19,
  SetSessionLogSeverityLevel: 22,
  SetSessionGraphOptimizationLevel: 23,
  SetIntraOpNumThreads: 24,
  SetInterOpNumThreads: 25,
  CreateTensorWithDataAsOrtValue: 49,
  CreateCpuMemoryInfo: 69,
  ReleaseStatus: 93,
  ReleaseSession: 95,
  ReleaseValue: 96,
  ReleaseSessionOptions: 100,
} as const;
const TABLE_BYTES = 101 * 8;
const FLOAT = 1;
const ALL_OPTIMIZATIONS = 99;

/** Words that do not move while the object is alive: V8 keeps small arrays where it moves them. */
const words = (count: number) => new BigUint64Array(Math.max(count, 32));

/** Calls by name; what fails is thrown. */
class Library {
  readonly koffi: Koffi;
  /** koffi unloads what nobody holds on to. */
  readonly loaded: KoffiLibrary;
  readonly #addresses: BigUint64Array;
  readonly #functions = new Map<string, KoffiFunction>();
  /** Where a call puts what it creates. */
  readonly #created = words(1);
  readonly #createdAt: bigint;

  constructor(koffi: Koffi, path: string) {
    this.koffi = koffi;
    this.loaded = koffi.load(path);
    const base = this.loaded.func("void *OrtGetApiBase()")();
    const [getApi] = new BigUint64Array(koffi.view(base, 8));
    const table = this.#decoded(getApi!, "intptr_t", ["uint32_t"])(VERSION);
    if (Number(table) === 0) throw new Error(`it has no interface of version ${VERSION}`);
    this.#addresses = new BigUint64Array(koffi.view(BigInt(table as number), TABLE_BYTES));
    this.#createdAt = koffi.address(this.#created);
  }

  /** The function itself, which returns 0 or what went wrong. */
  function(name: keyof typeof AT, args: number, result = "intptr_t"): KoffiFunction {
    let known = this.#functions.get(name);
    if (!known) {
      known = this.#decoded(this.#addresses[AT[name]]!, result, Array<string>(args).fill("intptr_t"));
      this.#functions.set(name, known);
    }
    return known;
  }

  call(name: keyof typeof AT, ...args: (number | bigint)[]): void {
    const status = this.function(name, args.length)(...args) as number;
    if (status !== 0) this.fail(status);
  }

  /** For functions whose last argument is where they put what they create. */
  create(name: keyof typeof AT, ...args: (number | bigint)[]): bigint {
    this.call(name, ...args, this.#createdAt);
    return this.#created[0]!;
  }

  release(name: keyof typeof AT, what: bigint): void {
    this.function(name, 1, "void")(what);
  }

  fail(status: number): never {
    const message = this.function("GetErrorMessage", 1, "str")(status) as string;
    this.release("ReleaseStatus", BigInt(status));
    throw new Error(message);
  }

  #decoded(address: bigint, result: string, args: readonly string[]): KoffiFunction {
    return this.koffi.decode(address, this.koffi.proto(`${result} (${args.join(", ")})`)) as KoffiFunction;
  }
}

/** Undefined where there is no koffi, or no such library. */
function openLibrary(): Onnxruntime | undefined {
  const koffi = koffiOrNone();
  if (!koffi) return undefined;
  try {
    const library = new Library(koffi, libraryPath());
    const kept = [LEFT, RIGHT, OUT, "hookline"].map((text) => textOf(text));
    const [left, right, out, id] = kept.map((text) => koffi.address(text)) as [bigint, bigint, bigint, bigint];
    const env = library.create("CreateEnv", FATAL, id);
    const memoryInfo = library.create("CreateCpuMemoryInfo", 0, 0);
    const names = words(3);
    names.set([left, right, out]);
    // Who holds on to `kept` keeps the texts where they are.
    const shared = { library, env, memoryInfo, names, kept };
    return { session: (model, memory) => new DirectSession(shared, model, memory) };
  } catch {
    return undefined;
  }
}

const textOf = (text: string): Uint8Array => new TextEncoder().encode(text.padEnd(256, "\0"));

/** The package keeps it beside its binding. */
function libraryPath(): string {
  const { readdirSync } = builtin(`Engine "native"`, "node:fs");
  const { dirname, join } = builtin(`Engine "native"`, "node:path");
  const { platform, arch } = builtin(`Engine "native"`, "node:process");
  const bin = join(dirname(nodeRequire().resolve("onnxruntime-node/dist/binding.js")), "../bin");
  const folder = join(
    bin,
    readdirSync(bin).find((name) => name.startsWith("napi-"))!,
    platform,
    arch,
  );
  return join(
    folder,
    readdirSync(folder).find((name) => /^(lib)?onnxruntime\.([\d.]*dylib|so|dll)/.test(name))!,
  );
}

interface Shared {
  readonly library: Library;
  readonly env: bigint;
  readonly memoryInfo: bigint;
  readonly names: BigUint64Array;
  readonly kept: readonly Uint8Array[];
}

class DirectSession implements Session {
  readonly #shared: Shared;
  readonly #memory: Numbers;
  readonly #session: bigint;
  readonly #values: readonly ByAddress<bigint>[];
  readonly #run: KoffiFunction;
  /** Of a call: both sides, and behind them the result. */
  readonly #args = words(3);
  readonly #argsAt: bigint;
  readonly #namesAt: bigint;
  #plain: ArrayBuffer | undefined;
  #base = 0n;

  constructor(shared: Shared, { bytes, shapes }: Model, memory: Numbers) {
    const { library, env, memoryInfo, names } = shared;
    this.#shared = shared;
    this.#memory = memory;
    const options = library.create("CreateSessionOptions");
    try {
      library.call("SetIntraOpNumThreads", options, 1);
      library.call("SetInterOpNumThreads", options, 1);
      library.call("SetSessionGraphOptimizationLevel", options, ALL_OPTIMIZATIONS);
      library.call("SetSessionLogSeverityLevel", options, FATAL);
      // Each session would keep the most memory that it ever took, and there are as many as there are products.
      library.call("DisableCpuMemArena", options);
      library.call("DisableMemPattern", options);
      const model = new Uint8Array(bytes);
      this.#session = library.create(
        "CreateSessionFromArray",
        env,
        library.koffi.address(model),
        model.byteLength,
        options,
      );
    } finally {
      library.release("ReleaseSessionOptions", options);
    }
    this.#values = [shapes.left, shapes.right, shapes.out].map((shape) => {
      const dimensions = words(shape.length);
      for (const [i, size] of shape.entries()) dimensions[i] = BigInt(size);
      const length = sizeOf(shape) * 4;
      const tensor = (at: number): bigint =>
        library.create(
          "CreateTensorWithDataAsOrtValue",
          memoryInfo,
          this.#base + BigInt(at),
          length,
          library.koffi.address(dimensions),
          shape.length,
          FLOAT,
        );
      return new ByAddress(tensor, (value) => library.release("ReleaseValue", value));
    });
    this.#run = library.function("Run", 8);
    this.#argsAt = library.koffi.address(this.#args);
    this.#namesAt = library.koffi.address(names);
  }

  run(left: number, right: number, out: number): void {
    const { plain } = this.#memory;
    if (plain !== this.#plain) {
      for (const values of this.#values) values.clear();
      this.#plain = plain;
      this.#base = this.#shared.library.koffi.address(new Uint8Array(plain));
    }
    this.#args[0] = this.#values[0]!.get(left);
    this.#args[1] = this.#values[1]!.get(right);
    this.#args[2] = this.#values[2]!.get(out);
    const status = this.#run(
      this.#session,
      0,
      this.#namesAt,
      this.#argsAt,
      2,
      this.#namesAt + 16n,
      1,
      this.#argsAt + 16n,
    ) as number;
    if (status !== 0) this.#shared.library.fail(status);
  }

  dispose(): void {
    for (const values of this.#values) values.clear();
    this.#shared.library.release("ReleaseSession", this.#session);
  }
}

// The native part of the Node binding. Its own `run` waits for a turn of the event loop; what is beneath it does not.

interface Tensor {
  readonly data: Float32Array;
}

interface NativeSession {
  loadModel(model: ArrayBufferLike, offset: number, length: number, options: object): void;
  run(feeds: Record<string, Tensor>, fetches: Record<string, Tensor>, options: object): Record<string, Tensor>;
  dispose(): void;
}

interface Common {
  readonly Tensor: new (type: string, data: Float32Array, shape: readonly number[]) => Tensor;
}

interface Binding {
  readonly binding: { readonly InferenceSession: new () => NativeSession };
  initOrt(): void;
}

const WAY_OUT = `Install it with \`npm install onnxruntime-node@1.30\` (where downloads are blocked: ONNXRUNTIME_NODE_INSTALL=skip), or use engine: "wasm".`;

function openBinding(): Onnxruntime {
  const require = nodeRequire();
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
    session({ bytes, shapes }, memory) {
      const session = new native.binding.InferenceSession();
      session.loadModel(bytes.buffer, bytes.byteOffset, bytes.byteLength, {
        intraOpNumThreads: 1,
        interOpNumThreads: 1,
        executionMode: "sequential",
        graphOptimizationLevel: "all",
        enableCpuMemArena: false,
        enableMemPattern: false,
        logSeverityLevel: FATAL,
      });
      let buffer: ArrayBuffer | undefined;
      const tensors = (shape: readonly number[]) =>
        new ByAddress((at) => new common.Tensor("float32", new Float32Array(buffer!, at, sizeOf(shape)), shape));
      const [lefts, rights, outs] = [tensors(shapes.left), tensors(shapes.right), tensors(shapes.out)];
      return {
        run(left, right, out) {
          if (buffer !== memory.plain) {
            for (const known of [lefts, rights, outs]) known.clear();
            buffer = memory.plain;
          }
          session.run({ [LEFT]: lefts.get(left), [RIGHT]: rights.get(right) }, { [OUT]: outs.get(out) }, {});
        },
        dispose: () => session.dispose(),
      };
    },
  };
}
