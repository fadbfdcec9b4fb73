// What notices cost when their service is broken: two trainers, one of them with a webhook, take turns step by step.
import { Trainer, type Hook } from "hookline";
import { webhook } from "../src/hooks/webhook.ts";
import { noticeServer, type Mode } from "../tests/support/notice-server.ts";
import { oneLayer } from "./lib/models.ts";
import type { Report } from "./lib/report.ts";
import { median, quantile } from "./lib/stats.ts";
import { inTurns, Turns } from "./lib/turns.ts";

const STEPS = 10_000;
/** The first steps compile and warm up. */
const WARM_UP = 2000;

const SERVICES = ["hang", "500", "reset", "does not resolve"] as const;
/** The race without any webhook: what it shows is what the measurement itself adds. */
const NONE = "no webhook";

/**
 * Microseconds of every step, by the clock and of the CPU. The work for the network comes in few steps, so only a mean
 * can show it; and as it comes after a pause, when a busy machine may give the CPU to others, only the CPU's time is
 * this process's own.
 */
interface Steps {
  readonly clock: number[];
  readonly cpu: number[];
}

const cpuTime = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

async function train(turns: Turns, hooks: readonly Hook[], yieldEvery: number): Promise<Steps> {
  const steps: Steps = { clock: [], cpu: [] };
  const { train: loader, ...options } = oneLayer();
  let clock = 0;
  let cpu = 0;
  const watch = {
    begin: () => void ([clock, cpu] = [performance.now(), cpuTime()]),
    end() {
      steps.cpu.push(cpuTime() - cpu);
      steps.clock.push((performance.now() - clock) * 1000);
    },
  };
  await using trainer = new Trainer({
    ...options,
    train: inTurns(loader, turns, watch),
    steps: STEPS + WARM_UP,
    engine: "wasm",
    signals: false,
    yieldEvery,
    hooks: [...hooks, { name: "leave", onTrainEnd: () => turns.leave() }],
    warn: () => undefined,
  });
  await trainer.fit();
  return { clock: steps.clock.slice(WARM_UP), cpu: steps.cpu.slice(WARM_UP) };
}

interface Row {
  readonly label: string;
  readonly plain: Steps;
  readonly noticed: Steps;
}

/** Notices at the end of every epoch, that is every 64 steps. Only the trainer that sends lets the network work. */
async function race(label: string, url?: string): Promise<Row> {
  const turns = new Turns();
  const hooks = url === undefined ? [] : [webhook({ url, on: ["epochEnd"], allowHttp: true, allowPrivate: true })];
  const [plain, noticed] = await Promise.all([train(turns, [], 1e9), train(turns, hooks, 20)]);
  return { label, plain, noticed };
}

async function against(service: (typeof SERVICES)[number] | typeof NONE): Promise<Row> {
  if (service === NONE) return race(service);
  if (service === "does not resolve") return race(service, "https://does-not-exist.invalid/x");
  const server = await noticeServer(service satisfies Mode);
  try {
    return await race(service, server.url);
  } finally {
    await server.close();
  }
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const p99 = (values: readonly number[]): number => quantile(values, 0.99);

/** How much longer something takes with the hook, in percent. */
const added = (
  plain: readonly number[],
  noticed: readonly number[],
  of: (values: readonly number[]) => number,
): number => 100 * (of(noticed) / of(plain) - 1);
const addedCpu = ({ plain, noticed }: Row): number => added(plain.cpu, noticed.cpu, mean);
const addedTime = ({ plain, noticed }: Row, of: typeof median): number => added(plain.clock, noticed.clock, of);

export async function run(): Promise<Report> {
  const none = await against(NONE);
  const rows: Row[] = [];
  for (const service of SERVICES) rows.push(await against(service));
  return {
    name: "webhook",
    title: `webhook: what a broken service adds to a step of one layer, in % over ${STEPS} steps`,
    columns: ["step µs", "median %", "p99 %", "CPU %"],
    rows: [none, ...rows].map((row) => [
      row.label,
      median(row.plain.clock),
      addedTime(row, median),
      addedTime(row, p99),
      addedCpu(row),
    ]),
    aims: rows.flatMap((row) => [
      { what: `${row.label}, median step`, measured: addedTime(row, median), unit: "%", limit: 1 },
      { what: `${row.label}, CPU`, measured: addedCpu(row) - addedCpu(none), unit: "%", limit: 1 },
    ]),
  };
}
