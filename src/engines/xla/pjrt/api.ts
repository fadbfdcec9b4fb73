// A PJRT plugin: a library with one function, which returns the table of all others. Each takes the address of its struct
// and returns 0 or an error.
import { EngineError } from "../../../core/errors.ts";
import type { Koffi, KoffiFunction, KoffiLibrary } from "../../../platform/koffi.ts";
import { Struct, textAt } from "./struct.ts";

/** Where each function stands in the table. PJRT only ever appends to it. */
const OFFSETS = {
  Error_Destroy: 40,
  Error_Message: 48,
  Error_GetCode: 56,
  Plugin_Initialize: 64,
  Event_Destroy: 80,
  Event_Await: 104,
  Client_Create: 120,
  Client_Destroy: 128,
  Client_PlatformName: 136,
  Client_PlatformVersion: 152,
  Client_AddressableDevices: 168,
  Client_Compile: 200,
  Client_BufferFromHostBuffer: 216,
  DeviceDescription_Kind: 248,
  Device_GetDescription: 272,
  Device_MemoryStats: 312,
  Executable_Destroy: 360,
  Executable_NumOutputs: 392,
  Executable_Serialize: 432,
  LoadedExecutable_Destroy: 440,
  LoadedExecutable_GetExecutable: 448,
  LoadedExecutable_Execute: 480,
  Executable_DeserializeAndLoad: 488,
  Executable_GetCompiledMemoryStats: 808,
  Client_DmaMap: 920,
  Client_DmaUnmap: 928,
  Buffer_Destroy: 504,
  Buffer_ToHostBuffer: 600,
  Buffer_ReadyEvent: 616,
} as const;
export type PjrtFunction = keyof typeof OFFSETS;

/** Table's head: its size, extensions, then a struct with the version in its last two words of 32 bits. */
const HEAD_BYTES = 40;
/** Executable_DeserializeAndLoad took its options then; older plugins have other structs. */
const OLDEST_MINOR = 54;

export const RESOURCE_EXHAUSTED = 8;
const OUT_OF_MEMORY =
  "the device has too little memory. Use smaller batches (accumulate gradients over several), `layered: true` if the model is a stack of layers, or a smaller model.";
/** XLA may list every buffer of a program. */
const LONGEST_TEXT = 2000;

/** What a plugin reported, in its own words. */
export class PjrtError extends EngineError {
  readonly code: number;
  readonly #call: PjrtFunction;
  readonly #text: string;

  /** `known`: what else is known about it. */
  constructor(call: PjrtFunction, code: number, text: string, known = "") {
    const advice = code === RESOURCE_EXHAUSTED ? `${[OUT_OF_MEMORY, known].join(" ").trim()} XLA says: ` : "";
    const words = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)} …` : text;
    super(`Engine "xla": ${advice}${words} (PJRT_${call}, code ${code})`);
    this.code = code;
    this.#call = call;
    this.#text = text;
  }

  with(known: string): PjrtError {
    return new PjrtError(this.#call, this.code, this.#text, known);
  }
}

export class PjrtApi {
  readonly koffi: Koffi;
  readonly path: string;
  readonly version: string;
  readonly #functions = new Map<PjrtFunction, KoffiFunction>();
  /** Keeps the library loaded. */
  readonly library: KoffiLibrary;
  /** Of the event that is awaited: memory for a struct takes longer than most calls. */
  readonly #event: Struct;

  constructor(koffi: Koffi, path: string) {
    this.koffi = koffi;
    this.path = path;
    try {
      this.library = koffi.load(path, { lazy: true });
    } catch (cause) {
      throw new EngineError(
        `Engine "xla": the plugin ${path} cannot be loaded (${(cause as Error).message}). If a library of CUDA or ROCm is missing, install the plugin with them: pip install "jax[cuda13]".`,
        { cause },
      );
    }
    let table: unknown;
    try {
      table = this.library.func("void *GetPjrtApi()")();
    } catch (cause) {
      throw new EngineError(`Engine "xla": ${path} is no PJRT plugin: it has no function GetPjrtApi.`, { cause });
    }
    const size = Number(new BigUint64Array(koffi.view(table, 8))[0]);
    const head = new Int32Array(koffi.view(table, HEAD_BYTES));
    const [major, minor] = [head[8]!, head[9]!];
    this.version = `${major}.${minor}`;
    if (major !== 0 || minor < OLDEST_MINOR) {
      throw new EngineError(
        `Engine "xla": ${path} has version ${this.version} of PJRT's interface; hookline needs 0.${OLDEST_MINOR} or later, but not 1. Update the plugin: pip install --upgrade "jax[cuda13]".`,
      );
    }
    const addresses = new BigUint64Array(koffi.view(table, size));
    const prototype = koffi.proto("void *(void *args)");
    for (const [name, offset] of Object.entries(OFFSETS)) {
      const address = offset + 8 <= size ? addresses[offset / 8]! : 0n;
      if (address !== 0n) this.#functions.set(name as PjrtFunction, koffi.decode(address, prototype) as KoffiFunction);
    }
    this.#event = this.struct();
    this.call("Plugin_Initialize", this.struct());
  }

  struct(...fields: readonly (bigint | number)[]): Struct {
    return new Struct(this.koffi, ...fields);
  }

  has(name: PjrtFunction): boolean {
    return this.#functions.has(name);
  }

  /** The function as it is, for calls in every step: `check` what it returns. */
  raw(name: PjrtFunction): KoffiFunction {
    const found = this.#functions.get(name);
    if (!found) throw new EngineError(`Engine "xla": the plugin ${this.path} has no PJRT_${name}. Update it.`);
    return found;
  }

  /** Returns the struct, with the results in it. */
  call(name: PjrtFunction, struct: Struct): Struct {
    this.check(name, this.raw(name)(struct.address));
    return struct;
  }

  /** On another thread: the event loop runs on. */
  callOnThread(name: PjrtFunction, struct: Struct): Promise<Struct> {
    return new Promise((resolve, reject) => {
      this.raw(name).async(struct.address, (failed: Error | null, error: unknown) => {
        try {
          if (failed) throw failed;
          this.check(name, error);
          resolve(struct);
        } catch (thrown) {
          reject(thrown);
        }
      });
    });
  }

  /** Throws what a function returned, if it is an error. */
  check(name: PjrtFunction, error: unknown): void {
    if (!error) return;
    const address = this.koffi.address(error);
    const message = this.struct(address);
    this.raw("Error_Message")(message.address);
    const text = textAt(this.koffi, message.get(1), message.get(2));
    const code = this.struct(address);
    this.raw("Error_GetCode")(code.address);
    const number = Number(code.get(1) & 0xffffffffn);
    this.raw("Error_Destroy")(this.struct(address).address);
    throw new PjrtError(name, number, text);
  }

  /** Waits until it has happened, and throws if that failed. */
  await(event: bigint): void {
    if (event === 0n) return;
    const struct = this.#event;
    struct.set(0, event);
    try {
      this.call("Event_Await", struct);
    } finally {
      this.raw("Event_Destroy")(struct.address);
    }
  }

  text(name: PjrtFunction, owner: bigint): string {
    const found = this.call(name, this.struct(owner));
    return textAt(this.koffi, found.get(1), found.get(2));
  }
}
