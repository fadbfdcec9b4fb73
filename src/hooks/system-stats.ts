// systemStats: logs CPU, memory, event-loop lag and GPU use.
import { checkCadence, type Cadence } from "../core/cadence.ts";
import type { ContextOf } from "../core/context.ts";
import type { Hook } from "../core/hook.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { type Builtin, builtinOrNone } from "../platform/builtin.ts";

/** Options of `systemStats`. */
export interface SystemStatsOptions {
  readonly name?: string;
  /** How often to log. Default every 10 s and at the end. */
  readonly every?: Cadence;
  /** Run nvidia-smi, if it is installed. Default true. */
  readonly gpu?: boolean;
  /** Seconds between reports of nvidia-smi. Default 5. */
  readonly gpuInterval?: number;
}

type Process = Builtin<"node:process">;

const MIB = 2 ** 20;

/** CPU time used so far, in milliseconds; 0 where it is not available. */
function cpuTime(node: Process | undefined): number {
  const used = node?.cpuUsage();
  return used ? (used.user + used.system) / 1000 : 0;
}

/** Resident memory and heap; in browsers only the heap, and not in all of them. */
function memory(node: Process | undefined): Record<string, number> {
  if (node) {
    const { rss, heapUsed } = node.memoryUsage();
    return { "system/rssMiB": rss / MIB, "system/heapMiB": heapUsed / MIB };
  }
  const page = (performance as { memory?: { readonly usedJSHeapSize: number } }).memory;
  return page ? { "system/heapMiB": page.usedJSHeapSize / MIB } : {};
}

/** Of an engine that has a device of its own: nvidia-smi shows what it has reserved, this what it uses. */
function deviceMemory(memory: ContextOf<"stepEnd">["deviceMemory"]): Record<string, number> {
  if (!memory) return {};
  const { bytesInUse, peakBytesInUse: peak, bytesLimit: limit } = memory;
  return {
    "device/memoryMiB": bytesInUse / MIB,
    ...(peak !== undefined && { "device/peakMemoryMiB": peak / MIB }),
    ...(limit !== undefined && { "device/memoryLimitMiB": limit / MIB }),
  };
}

/**
 * Logs `system/cpuPercent` (100 is one core), `system/rssMiB`, `system/heapMiB`, `system/lagMs` (the longest delay of a
 * timer), for each GPU `gpu/0/utilPercent`, `memoryMiB`, `temperatureC` and `powerW`, and on the engine "xla"
 * `device/memoryMiB`, `device/peakMemoryMiB` and `device/memoryLimitMiB`.
 * @example
 * systemStats({ every: "30 s" })
 */
export const systemStats = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "systemStats",
    takes: () => ({
      options: {
        name: is.name,
        every: is.cadence,
        gpu: is.boolean,
        gpuInterval: is.wholeFrom(1),
      },
    }),
  },
  makeSystemStats,
);

function makeSystemStats(options: SystemStatsOptions = {}): Hook {
  const { name = "systemStats", every = { every: "10 s", atEnd: true }, gpu = true, gpuInterval = 5 } = options;
  checkCadence(`${name}: every`, every);
  const node = builtinOrNone("node:process");
  let lag: LagWatch | undefined;
  let gpus: GpuWatch | undefined;
  let last = { at: 0, cpu: 0 };

  return {
    name,
    stage: "monitor",
    every,
    logs: ["system/*", "gpu/*", "device/*"],
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
        ...deviceMemory(ctx.deviceMemory),
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

/** Between two timers of `watchLag`. */
const LAG_TIMER_MS = 100;

interface LagWatch {
  /** The longest delay in milliseconds since the last call. */
  read(): number;
  stop(): void;
}

/** Measures how late timers fire: the event loop was blocked that long, for signals, sockets and clicks as well. */
function watchLag(): LagWatch {
  let worst = 0;
  let last = performance.now();
  const look = (): void => {
    const now = performance.now();
    worst = Math.max(worst, now - last - LAG_TIMER_MS);
    last = now;
  };
  const timer = setInterval(look, LAG_TIMER_MS);
  // In Node, `unref` lets the program end; in browsers a timer is a number.
  (timer as { unref?(): void }).unref?.();
  return {
    read() {
      // Include a timer that is overdue now.
      const lag = Math.max(worst, performance.now() - last - LAG_TIMER_MS);
      worst = 0;
      return lag;
    },
    stop: () => clearInterval(timer),
  };
}

/** The fields queried from nvidia-smi, and their metrics. */
const GPU_FIELDS = {
  "utilization.gpu": "utilPercent",
  "memory.used": "memoryMiB",
  "temperature.gpu": "temperatureC",
  "power.draw": "powerW",
} as const;
const GPU_METRICS = Object.values(GPU_FIELDS);

/** How long nvidia-smi may take to end before it is killed. */
const KILL_AFTER_MS = 1000;

interface GpuWatch {
  /** The latest numbers, as `gpu/<index>/<what>`; none when there is no GPU, or no nvidia-smi. */
  read(): Record<string, number>;
  stop(): Promise<void>;
}

/**
 * One long-lived nvidia-smi that reports all GPUs every few seconds: starting one per look takes half a second of CPU.
 * Any failure means that there is nothing to report; it is not an error.
 */
function watchGpus(seconds: number): GpuWatch {
  const latest = new Map<string, number>();
  const child = startNvidiaSmi(seconds);
  // A process that never started has no pid, and killing it would kill our own process group.
  if (child?.pid === undefined) {
    child?.once("error", () => undefined);
    return { read: () => ({}), stop: () => Promise.resolve() };
  }

  const node = builtinOrNone("node:process")!;
  const kill = (): void => void child.kill("SIGKILL");
  const ended = new Promise<void>((resolve) => {
    const over = (): void => {
      // Otherwise the last numbers would be reported forever.
      latest.clear();
      node.off("exit", kill);
      resolve();
    };
    child.once("error", over);
    child.once("exit", over);
  });
  // It must neither keep the program alive nor outlive one that exits without closing its hooks.
  node.once("exit", kill);
  child.unref();
  let rest = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    for (const line of lines) takeLine(latest, line);
  });
  (child.stdout as { unref?(): void }).unref?.();

  return {
    read: () => Object.fromEntries(latest),
    async stop() {
      const late = setTimeout(kill, KILL_AFTER_MS);
      child.kill();
      await ended;
      clearTimeout(late);
    },
  };
}

function startNvidiaSmi(seconds: number) {
  const query = `--query-gpu=index,${Object.keys(GPU_FIELDS).join(",")}`;
  try {
    return builtinOrNone("node:child_process")?.spawn(
      "nvidia-smi",
      [query, "--format=csv,noheader,nounits", "-l", String(seconds)],
      { stdio: ["ignore", "pipe", "ignore"], windowsHide: true },
    );
  } catch {
    // Without the permission to start processes Node throws; a missing program is reported by an event later.
    return undefined;
  }
}

/** A line such as `0, 37, 1024, 55, 120.50`. A value that the GPU does not report is `[N/A]`, and is left out. */
function takeLine(latest: Map<string, number>, line: string): void {
  const [index, ...values] = line.split(",").map((part) => part.trim());
  if (!/^\d+$/.test(index ?? "") || values.length !== GPU_METRICS.length) return;
  for (const [i, text] of values.entries()) {
    const value = Number.parseFloat(text);
    if (Number.isFinite(value)) latest.set(`gpu/${index}/${GPU_METRICS[i]}`, value);
  }
}
