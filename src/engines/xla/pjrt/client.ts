// A client: the devices of a plugin, their memory, and the programs that are compiled for them.
import type { DType, TypedArray } from "../../../core/arrays.ts";
import { EngineError } from "../../../core/errors.ts";
import type { DeviceMemory } from "../../../core/loop/session.ts";
import type { PjrtApi } from "./api.ts";
import { compileOptions, namedValues, type ClientOptions, type XlaFlags } from "./options.ts";
import { PinnedMemory, type PinnedPlace } from "./pinned.ts";
import { PjrtProgram } from "./program.ts";
import { Bytes, type Struct } from "./struct.ts";

/** PJRT_Buffer_Type. */
const TYPES: Readonly<Record<DType, number>> = { bool: 1, int32: 4, uint32: 8, float32: 11 };
/** PJRT_HostBufferSemantics: the numbers are copied before the call returns, or until an event has happened. */
const [DURING_CALL, UNTIL_DONE] = [0n, 1n];

export class PjrtClient {
  readonly api: PjrtApi;
  readonly platform: string;
  readonly platformVersion: string;
  readonly deviceKind: string;
  /** For batches. */
  readonly pinned: PinnedMemory;
  readonly #client: bigint;
  readonly #devices: readonly bigint[];
  // Reused in every step.
  readonly #put: Struct;
  readonly #dims = new BigInt64Array(16);
  readonly #read: Struct;
  readonly #destroy: Struct;
  #isClosed = false;

  /** `count`: how many devices its programs run on. */
  constructor(api: PjrtApi, options: ClientOptions = {}, count = 1) {
    this.api = api;
    const list = namedValues(api.koffi, options);
    this.#client = api.call("Client_Create", api.struct(list.address, list.count)).get(6);
    this.platform = api.text("Client_PlatformName", this.#client);
    this.platformVersion = api.text("Client_PlatformVersion", this.#client);
    const devices = api.call("Client_AddressableDevices", api.struct(this.#client));
    const found = Number(devices.get(2));
    this.#devices = [...new BigUint64Array(api.koffi.view(devices.get(1), 8 * found))].slice(0, count);
    const description = api.call("Device_GetDescription", api.struct(this.#devices[0]!)).get(1);
    this.deviceKind = api.text("DeviceDescription_Kind", description);
    this.pinned = new PinnedMemory(api, this.#client, count);
    if (found < count) {
      this.close();
      throw new EngineError(
        `Engine "xla": \`devices\` is ${count}, but there ${found === 1 ? "is one" : `are ${found}`} (${this.deviceKind}). CUDA_VISIBLE_DEVICES may hide some.`,
      );
    }
    this.#put = api.struct(this.#client);
    this.#put.set(3, api.koffi.address(this.#dims));
    this.#read = api.struct();
    this.#destroy = api.struct();
  }

  /** How many its programs run on. */
  get devices(): number {
    return this.#devices.length;
  }

  /** The numbers in the memory of a device; bools as bytes. */
  put(data: TypedArray, shape: readonly number[], dtype: DType, device = 0): bigint {
    const address = this.api.koffi.address(data.length === 0 ? this.#dims : data);
    const { done: copied, buffer } = this.#begin(address, DURING_CALL, shape, dtype, device);
    try {
      this.api.await(copied);
    } catch (error) {
      this.destroy(buffer);
      throw error;
    }
    return buffer;
  }

  /** The numbers that were written into a place. They are on their way when this returns. */
  send(from: PinnedPlace, shape: readonly number[], dtype: DType, device: number): bigint {
    const { done, buffer } = this.#begin(from.address, UNTIL_DONE, shape, dtype, device);
    from.busy = done;
    return buffer;
  }

  #begin(
    address: bigint,
    semantics: bigint,
    shape: readonly number[],
    dtype: DType,
    device: number,
  ): { readonly done: bigint; readonly buffer: bigint } {
    const struct = this.#put;
    for (let i = 0; i < shape.length; i++) this.#dims[i] = BigInt(shape[i]!);
    struct.set(1, address);
    struct.set(2, BigInt(TYPES[dtype]));
    struct.set(4, BigInt(shape.length));
    struct.set(7, semantics);
    struct.set(8, this.#devices[device]!);
    this.api.call("Client_BufferFromHostBuffer", struct);
    return { done: struct.get(11), buffer: struct.get(12) };
  }

  /** Waits for the numbers and copies them. */
  read(buffer: bigint, into: Uint8Array): void {
    if (into.length === 0) return;
    const struct = this.#read;
    struct.set(0, buffer);
    struct.set(2, this.api.koffi.address(into));
    struct.set(3, BigInt(into.byteLength));
    this.api.call("Buffer_ToHostBuffer", struct);
    this.api.await(struct.get(4));
  }

  destroy(buffer: bigint): void {
    this.#destroy.set(0, buffer);
    this.api.call("Buffer_Destroy", this.#destroy);
  }

  /** On another thread. */
  async compile(text: string, flags: XlaFlags): Promise<PjrtProgram> {
    const { api } = this;
    const [code, format] = [new Bytes(api.koffi, text), new Bytes(api.koffi, "mlir")];
    const options = new Bytes(api.koffi, compileOptions(flags, this.devices));
    const program = api.struct(code.address, code.length, format.address, format.length);
    const struct = api.struct(this.#client, program.address, options.address, options.length);
    await api.callOnThread("Client_Compile", struct);
    // What the structs point to must live until here.
    void [code, format, options, program];
    return new PjrtProgram(api, struct.get(4), this.devices);
  }

  /** A program that `serialize` wrote, with the same plugin and on the same kind of device. */
  async load(serialized: Uint8Array): Promise<PjrtProgram> {
    const { api } = this;
    const bytes = new Bytes(api.koffi, serialized);
    const struct = api.struct(this.#client, bytes.address, bytes.length);
    await api.callOnThread("Executable_DeserializeAndLoad", struct);
    void bytes;
    return new PjrtProgram(api, struct.get(3), this.devices);
  }

  /** Of the first device; the others hold as much. Undefined where the plugin does not count. */
  memory(): DeviceMemory | undefined {
    if (!this.api.has("Device_MemoryStats")) return undefined;
    try {
      const stats = this.api.call("Device_MemoryStats", this.api.struct(this.#devices[0]!));
      const optional = (field: number): number | undefined =>
        (stats.get(field + 1) & 1n) === 1n ? Number(stats.get(field)) : undefined;
      return { bytesInUse: Number(stats.get(1)), peakBytesInUse: optional(2), bytesLimit: optional(8) };
    } catch {
      return undefined;
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.pinned.close();
    this.api.call("Client_Destroy", this.api.struct(this.#client));
  }
}
