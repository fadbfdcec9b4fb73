// A compiled program on the device. Its call frame is made once: running it writes addresses and calls one function.
import type { Koffi, KoffiFunction } from "../../../platform/koffi.ts";
import type { PjrtApi } from "./api.ts";
import type { Struct } from "./struct.ts";

/** In bytes, on each device. */
export interface ProgramMemory {
  readonly inputs: number;
  readonly outputs: number;
  /** Of the outputs: what takes the memory of inputs. */
  readonly reused: number;
  readonly temporary: number;
}

/** Where the row of each device begins in a table of addresses. */
function rows(koffi: Koffi, table: BigUint64Array, columns: number, devices: number): BigUint64Array {
  const begin = koffi.address(table);
  return BigUint64Array.from({ length: devices }, (_, d) => begin + BigInt(d * columns * 8));
}

export class PjrtProgram {
  readonly outputs: number;
  readonly #api: PjrtApi;
  readonly #loaded: bigint;
  readonly #executable: bigint;
  readonly #execute: KoffiFunction;
  readonly #options: Struct;
  readonly #call: Struct;
  readonly #devices: number;
  readonly #lists: { readonly given: BigUint64Array; readonly made: BigUint64Array };
  /** Those of the first device, then those of the next. */
  #args = new BigUint64Array(0);
  readonly #made: BigUint64Array;
  #kept = new BigInt64Array(0);

  constructor(api: PjrtApi, loaded: bigint, devices: number) {
    this.#api = api;
    this.#devices = devices;
    this.#loaded = loaded;
    this.#executable = api.call("LoadedExecutable_GetExecutable", api.struct(loaded)).get(1);
    this.outputs = Number(api.call("Executable_NumOutputs", api.struct(this.#executable)).get(1));
    this.#execute = api.raw("LoadedExecutable_Execute");
    this.#made = new BigUint64Array(Math.max(this.outputs * devices, 1));
    this.#lists = { given: new BigUint64Array(devices), made: rows(api.koffi, this.#made, this.outputs, devices) };
    this.#options = api.struct();
    this.#call = api.struct(loaded, this.#options.address, 0n, devices, 0n, api.koffi.address(this.#lists.made));
    this.#call.set(2, api.koffi.address(this.#lists.given));
  }

  /**
   * Starts the program; its results are buffers that will have their numbers. An argument and a result have a buffer on
   * each device. `kept`: arguments whose memory no result may take over in this call, although the program says so.
   */
  run(args: readonly (readonly bigint[])[], kept: readonly number[]): bigint[][] {
    const { koffi } = this.#api;
    const devices = this.#devices;
    if (this.#args.length < args.length * devices || this.#args.length === 0) {
      this.#args = new BigUint64Array(Math.max(args.length * devices, 1));
      this.#kept = new BigInt64Array(Math.max(args.length, 1));
      this.#lists.given.set(rows(koffi, this.#args, args.length, devices));
      this.#options.set(5, koffi.address(this.#kept));
      this.#call.set(4, BigInt(args.length));
    }
    for (let d = 0; d < devices; d++) {
      for (let i = 0; i < args.length; i++) this.#args[d * args.length + i] = args[i]![d]!;
    }
    for (let i = 0; i < kept.length; i++) this.#kept[i] = BigInt(kept[i]!);
    this.#options.set(6, BigInt(kept.length));
    this.#api.check("LoadedExecutable_Execute", this.#execute(this.#call.address));
    const results: bigint[][] = [];
    for (let i = 0; i < this.outputs; i++) {
      const result: bigint[] = [];
      for (let d = 0; d < devices; d++) result.push(this.#made[d * this.outputs + i]!);
      results.push(result);
    }
    return results;
  }

  /** Undefined where the plugin cannot say. */
  memory(): ProgramMemory | undefined {
    if (!this.#api.has("Executable_GetCompiledMemoryStats")) return undefined;
    try {
      const stats = this.#api.call("Executable_GetCompiledMemoryStats", this.#api.struct(this.#executable));
      const [inputs, outputs, reused, temporary] = [2, 3, 4, 5].map((field) => Number(stats.get(field))) as [
        number,
        number,
        number,
        number,
      ];
      return { inputs, outputs, reused, temporary };
    } catch {
      return undefined;
    }
  }

  /** For a cache on disk. */
  serialize(): Uint8Array {
    const { koffi } = this.#api;
    const struct = this.#api.call("Executable_Serialize", this.#api.struct(this.#executable));
    const bytes = new Uint8Array(koffi.view(struct.get(1), Number(struct.get(2)))).slice();
    (koffi.decode(struct.get(4), koffi.proto("void (void *owner)")) as KoffiFunction)(struct.get(3));
    return bytes;
  }

  destroy(): void {
    this.#api.call("Executable_Destroy", this.#api.struct(this.#executable));
    this.#api.call("LoadedExecutable_Destroy", this.#api.struct(this.#loaded));
  }
}
