// What the run takes of the machine: CPU, memory, responsiveness, and the GPUs where there are some.
import { checkCadence, type Cadence } from "../core/cadence.ts";
import type { Hook } from "../core/hook.ts";
import { checkOptions, is } from "../core/options.ts";
import { builtinOrNone } from "../platform/builtin.ts";
import { watchLag, type LagWatch } from "./lib/event-loop-lag.ts";
import { watchGpus, type GpuWatch } from "./lib/nvidia-smi.ts";

/** Options of `systemStats`. */
export interface SystemStatsOptions {
  readonly name?: string;
  /** Default every 10 s and at the end. */
  readonly every?: Cadence;
  /** Ask nvidia-smi, when there is one. Default true. */
  readonly gpu?: boolean;
  /** Seconds between its reports. Default 5. */
  readonly gpuInterval?: number;
}

const CHECKS = {
  name: is.name,
  every: is.cadence,
  gpu: is.boolean,
  gpuInterval: is.wholeFrom(1),
};

type Process = ReturnType<typeof process.getBuiltinModule<"node:process">>;

/** CPU time used so far, in milliseconds; 0 where it cannot be known. */
function cpuTime(node: Process | undefined): number {
  const used = node?.cpuUsage();
  return used ? (used.user + used.system) / 1000 : 0;
}

/** Resident memory and heap; of a page only the heap, and only in some browsers. */
function memory(node: Process | undefined): Record<string, number> {
  const MiB = 2 ** 20;
  if (node) {
    const { rss, heapUsed } = node.memoryUsage();
    return { "system/rssMiB": rss / MiB, "system/heapMiB": heapUsed / MiB };
  }
  const page = (performance as { memory?: { readonly usedJSHeapSize: number } }).memory;
  return page ? { "system/heapMiB": page.usedJSHeapSize / MiB } : {};
}

/**
 * Logs `system/cpuPercent` (100 is one core), `system/rssMiB`, `system/heapMiB`, `system/lagMs` (the longest that timers
 * had to wait) and for each GPU `gpu/0/utilPercent`, `memoryMiB`, `temperatureC` and `powerW`.
 * @example
 * systemStats({ every: "30 s" })
 */
export function systemStats(options: SystemStatsOptions = {}): Hook {
  checkOptions(options?.name ?? "systemStats", options, CHECKS);
  const { name = "systemStats", every = { every: "10 s", atEnd: true }, gpu = true, gpuInterval = 5 } = options;
  checkCadence(`${name}: every`, every);
  const node = builtinOrNone<Process>("node:process");
  let lag: LagWatch | undefined;
  let gpus: GpuWatch | undefined;
  let last = { at: 0, cpu: 0 };

  return {
    name,
    stage: "monitor",
    every,
    logs: ["system/*", "gpu/*"],
    onTrainBegin() {
      last = { at: performance.now(), cpu: cpuTime(node) };
      lag = watchLag();
      if (gpu) gpus = watchGpus(gpuInterval);
    },
    onStepEnd(ctx) {
      const now = { at: performance.now(), cpu: cpuTime(node) };
      const busy = (now.cpu - last.cpu) / (now.at - last.at);
      last = now;
      ctx.log({
        ...(node && Number.isFinite(busy) && { "system/cpuPercent": 100 * busy }),
        ...memory(node),
        ...(lag && { "system/lagMs": lag.read() }),
        ...gpus?.read(),
      });
    },
    async onClose() {
      lag?.stop();
      lag = undefined;
      const watch = gpus;
      gpus = undefined;
      await watch?.stop();
    },
  };
}
