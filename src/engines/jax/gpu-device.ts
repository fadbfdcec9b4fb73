// The GPU of the engine "webgpu": a browser's, or in Node the one of the package `webgpu`. WebGPU reports errors beside the
// calls that cause them, and what failed reads as zeros: so errors are collected here, and checked whenever something is
// awaited.
import { getWebGPUDevice, init } from "@jax-js/jax";
import { EngineError } from "../../core/errors.ts";
import { builtinOrNone } from "../../platform/builtin.ts";

/** What is used of WebGPU's `GPUDevice`. */
interface Device {
  readonly lost: Promise<{ readonly message: string }>;
  readonly adapterInfo?: Readonly<Record<"vendor" | "architecture" | "device" | "description", string>>;
  addEventListener(type: "uncapturederror", listener: (event: { readonly error: Error }) => void): void;
}

const hasWebGpu = (): boolean => Boolean((globalThis.navigator as { gpu?: unknown } | undefined)?.gpu);

export class GpuDevice {
  /** Such as "nvidia-h200, NVIDIA: 580.65". Browsers keep most of it to themselves. */
  readonly name: string;
  #lost: string | undefined;
  #fault: string | undefined;

  constructor(device: Device) {
    const { vendor, architecture, device: model, description } = device.adapterInfo ?? {};
    this.name = [model || architecture || vendor, description].filter(Boolean).join(", ") || "a GPU without a name";
    void device.lost.then(({ message }) => (this.#lost = message || "without a reason"));
    // The first one is the cause; what follows from it says less.
    device.addEventListener("uncapturederror", ({ error }) => (this.#fault ??= error.message));
  }

  /** Waits for the GPU, and throws if something has failed on it meanwhile. */
  async check<T>(work: T | Promise<T>): Promise<T> {
    let done: T;
    try {
      done = await work;
    } catch (error) {
      this.#throwFault(error);
      throw error;
    }
    this.#throwFault();
    return done;
  }

  #throwFault(cause?: unknown): void {
    if (this.#lost !== undefined) {
      throw new EngineError(
        `Engine "webgpu": the GPU (${this.name}) was lost: ${this.#lost}. Its memory is gone, and this process cannot use it again: restart the program and resume from the last checkpoint.`,
        { cause },
      );
    }
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault !== undefined) {
      throw new EngineError(
        `Engine "webgpu": the GPU (${this.name}) could not compute this: ${fault}. If it is about memory or sizes of buffers, a smaller batch may help; else use engine: "wasm".`,
        { cause },
      );
    }
  }
}

/** jax-js has one for the whole process. */
let opened: GpuDevice | undefined;

/** The one of this runtime. Without one, an error says what to do. */
export async function openGpu(): Promise<GpuDevice> {
  if (opened) return opened;
  const inNode = !hasWebGpu() && builtinOrNone("node:module") !== undefined;
  // Only for Node: package.json ("browser") leaves it out of browsers' bundles.
  if (inNode) await (await import("./node-gpu.ts")).provideGpu();
  if (!hasWebGpu()) {
    throw new EngineError(
      `Engine "webgpu": this runtime has no WebGPU (navigator.gpu is missing). Use a browser with WebGPU over https or localhost, or engine: "wasm".`,
    );
  }
  if (!(await init("webgpu")).includes("webgpu")) {
    throw new EngineError(
      inNode
        ? `Engine "webgpu": no GPU was found: Dawn gave no adapter. On Linux it needs Vulkan: the GPU's driver and its loader (apt-get install libvulkan1). Or use engine: "native" or "wasm".`
        : `Engine "webgpu": the browser gave no GPU adapter. Use engine: "wasm", or enable WebGPU.`,
    );
  }
  opened = new GpuDevice(getWebGPUDevice());
  return opened;
}
