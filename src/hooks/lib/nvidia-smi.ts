// One long-lived nvidia-smi that reports all GPUs every few seconds: starting one for each look takes half a second of CPU.
import { builtinOrNone } from "../../platform/builtin.ts";

type ChildProcess = ReturnType<typeof process.getBuiltinModule<"node:child_process">>;
type Process = ReturnType<typeof process.getBuiltinModule<"node:process">>;

const FIELDS = {
  "utilization.gpu": "utilPercent",
  "memory.used": "memoryMiB",
  "temperature.gpu": "temperatureC",
  "power.draw": "powerW",
} as const;
const NAMES = Object.values(FIELDS);

/** How long it may take to end before it is killed. */
const PATIENCE_MS = 1000;

export interface GpuWatch {
  /** The latest numbers, as `gpu/<index>/<what>`; none when there is no GPU, or no nvidia-smi. */
  read(): Record<string, number>;
  stop(): Promise<void>;
}

/** Starts watching. Whatever goes wrong means that there is nothing to report, and is no reason to speak up. */
export function watchGpus(seconds: number): GpuWatch {
  const latest = new Map<string, number>();
  const child = start(seconds);
  // One that was never started has no number, and to kill it would be to kill our own process group.
  if (child?.pid === undefined) {
    child?.once("error", () => undefined);
    return { read: () => ({}), stop: () => Promise.resolve() };
  }

  const node = builtinOrNone<Process>("node:process")!;
  const kill = (): void => void child.kill("SIGKILL");
  const ended = new Promise<void>((resolve) => {
    const over = (): void => {
      // Without it the last numbers would be reported for ever.
      latest.clear();
      node.off("exit", kill);
      resolve();
    };
    child.once("error", over);
    child.once("exit", over);
  });
  // Neither keeps the program alive, nor outlives it when it ends without closing its hooks.
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
      const late = setTimeout(kill, PATIENCE_MS);
      child.kill();
      await ended;
      clearTimeout(late);
    },
  };
}

function start(seconds: number) {
  const query = `--query-gpu=index,${Object.keys(FIELDS).join(",")}`;
  try {
    return builtinOrNone<ChildProcess>("node:child_process")?.spawn(
      "nvidia-smi",
      [query, "--format=csv,noheader,nounits", "-l", String(seconds)],
      { stdio: ["ignore", "pipe", "ignore"], windowsHide: true },
    );
  } catch {
    // Where Node may not start processes it says so at once; a program that is not there is an event later.
    return undefined;
  }
}

/** `0, 37, 1024, 55, 120.50`; what a GPU does not know is `[N/A]`, and is left out. */
function takeLine(latest: Map<string, number>, line: string): void {
  const [index, ...values] = line.split(",").map((part) => part.trim());
  if (!/^\d+$/.test(index ?? "") || values.length !== NAMES.length) return;
  for (const [i, text] of values.entries()) {
    const value = Number.parseFloat(text);
    if (Number.isFinite(value)) latest.set(`gpu/${index}/${NAMES[i]}`, value);
  }
}
