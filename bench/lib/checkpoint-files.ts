// The speed of the files: a checkpoint written durably and read with its digests, beside PyTorch with the same tensors.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  decodeSafetensors,
  openDirectoryStore,
  safetensorsParts,
  sharedBytes,
  type CheckpointStore,
  type FileParts,
} from "hookline/checkpoint";
import { Rng } from "../../src/data/random.ts";
import type { Report } from "./report.ts";
import { median } from "./stats.ts";
import { torchProcess, type TorchProcess } from "./torch-process.ts";

const ROUNDS = 15;
const WARM_UP = 2;
const WIDTH = 2048;
const LAYERS = 8;
const BYTES = LAYERS * WIDTH * WIDTH * 4;
const FILE = "model.safetensors";

interface Contestant {
  readonly label: string;
  /** Milliseconds of one call. */
  time(): Promise<number>;
}

function someFiles(): FileParts {
  const rng = new Rng(1);
  const tensor = () => {
    const bytes = sharedBytes(WIDTH * WIDTH * 4);
    const numbers = new Float32Array(bytes.buffer);
    for (let i = 0; i < numbers.length; i++) numbers[i] = rng.normal();
    return { dtype: "F32" as const, shape: [WIDTH, WIDTH], bytes };
  };
  return {
    [FILE]: safetensorsParts(Object.fromEntries(Array.from({ length: LAYERS }, (_, i) => [`${i}.weight`, tensor()]))),
  };
}

async function stopwatch(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** What is there from the round before goes first, untimed: files that are replaced would cost extra. */
function ours(store: CheckpointStore): Contestant[] {
  const files = someFiles();
  const info = { epoch: 0, reason: "request", metrics: {}, runId: "bench" };
  let step = 0;
  return [
    {
      label: "hookline save: SHA-256, fsync, rename",
      async time() {
        await store.remove([`${step}`]);
        step++;
        return stopwatch(() => store.save(`${step}`, files, { ...info, step, time: step }));
      },
    },
    {
      label: "hookline load: SHA-256 checked",
      time: () =>
        stopwatch(async () => {
          const loaded = await store.load({ name: `${step}` });
          decodeSafetensors(loaded.files[FILE]!, FILE);
        }),
    },
  ];
}

function torchs(torch: TorchProcess, dir: string): Contestant[] {
  const saving = (label: string, call: string, file: string): Contestant => ({
    label,
    async time() {
      await rm(join(dir, file), { force: true });
      return torch.time(call, join(dir, file));
    },
  });
  const loading = (label: string, call: string, file: string): Contestant => ({
    label,
    time: () => torch.time(call, join(dir, file)),
  });
  return [
    saving("torch.save, as it is: no fsync", "save", "plain.pt"),
    saving("torch.save and fsync", "save_durably", "durable.pt"),
    loading("torch.load", "load", "plain.pt"),
    ...(torch.calls.includes("safetensors_save")
      ? [
          saving("safetensors.torch.save_file", "safetensors_save", "plain.safetensors"),
          loading("safetensors.torch.load_file", "safetensors_load", "plain.safetensors"),
        ]
      : []),
  ];
}

export async function checkpointFiles(): Promise<Report> {
  const dir = await mkdtemp(join(tmpdir(), "hookline-bench-"));
  const store = await openDirectoryStore(join(dir, "checkpoints"));
  const torch = await torchProcess();
  const contestants = [...ours(store), ...(torch ? torchs(torch, dir) : [])];
  const times = new Map(contestants.map(({ label }) => [label, [] as number[]]));
  try {
    for (let round = -WARM_UP; round < ROUNDS; round++) {
      for (const { label, time } of contestants) {
        const took = await time();
        if (round >= 0) times.get(label)!.push(took);
      }
    }
  } finally {
    await torch?.close();
    await store.close();
    await rm(dir, { recursive: true, force: true });
  }
  const rows = [...times].map(([label, all]): [string, number, number, number] => {
    const least = Math.min(...all);
    return [label, median(all), BYTES / 1e3 / median(all), BYTES / 1e3 / least];
  });
  return {
    name: "checkpoint-files",
    title: `checkpoint-files: a checkpoint of ${BYTES / 1e6} MB, page cache warm${torch ? `, beside PyTorch ${torch.version}` : ""}`,
    columns: ["ms", "MB/s", "best MB/s"],
    rows: torch ? rows : [...rows, ["torch.save, torch.load: no PyTorch here"]],
    aims: [],
  };
}
