// What notices cost when their service is broken: two trainers, one of them with a webhook, take turns step by step.
import { schedule, Trainer, webhook, type Hook } from "hookline";
import { noticeServer, type Mode } from "../tests/support/notice-server.ts";
import { oneLayer } from "./lib/models.ts";
import type { Report } from "./lib/report.ts";
import { median, quantile } from "./lib/stats.ts";
import { inTurns, Turns } from "./lib/turns.ts";

const STEPS = 10_000;
/** The first steps compile and warm up. */
const WARM_UP = 2000;

/** The race without a webhook shows what the measurement itself adds. */
const SERVICES = ["no webhook", "hang", "500", "reset", "does not resolve"] as const;
type Service = (typeof SERVICES)[number];

/** The median of the rounds counts. Not the least: of a ratio that is the round in which the plain trainer was disturbed. */
const ROUNDS = 5;

/** Microseconds of every step. */
async function train(turns: Turns, hooks: readonly Hook[], yieldEvery: number): Promise<number[]> {
  const steps: number[] = [];
  const { train: loader, ...options } = oneLayer();
  await using trainer = new Trainer({
    ...options,
    train: inTurns(loader, turns, (ms) => void steps.push(ms * 1000)),
    steps: STEPS + WARM_UP,
    engine: "wasm",
    signals: false,
    yieldEvery,
    hooks: [...hooks, { name: "leave", onTrainEnd: () => turns.leave() }],
    warn: () => undefined,
  });
  await trainer.fit();
  return steps.slice(WARM_UP);
}

interface Round {
  readonly plain: readonly number[];
  readonly noticed: readonly number[];
}

/** Two notices in a run, each tried again and again, as for a best model now and then. Only the sender lets the network work. */
async function race(url?: string): Promise<Round> {
  const turns = new Turns();
  const notices = { on: ["epochEnd"], allowHttp: true, allowPrivate: true } as const;
  const hooks = url === undefined ? [] : [schedule("78 epochs", webhook({ url, ...notices }))];
  const [plain, noticed] = await Promise.all([train(turns, [], 1e9), train(turns, hooks, 20)]);
  return { plain, noticed };
}

async function against(service: Service): Promise<Round> {
  if (service === "no webhook") return race();
  if (service === "does not resolve") return race("https://does-not-exist.invalid/x");
  const server = await noticeServer(service satisfies Mode);
  try {
    return await race(server.url);
  } finally {
    await server.close();
  }
}

type Statistic = (values: readonly number[]) => number;
/** A step this long was interrupted by the machine: handing a request to the network takes a fraction of it. */
const LONGEST_US = 5000;
/** The work for the network comes in few steps: it shows in the mean, not in the median. */
const mean: Statistic = (values) => values.reduce((sum, value) => sum + Math.min(value, LONGEST_US), 0) / values.length;
const p10: Statistic = (values) => quantile(values, 0.1);
const p99: Statistic = (values) => quantile(values, 0.99);

/** How much longer a step takes with the hook, in percent. */
const added = (rounds: readonly Round[], of: Statistic): number =>
  median(rounds.map(({ plain, noticed }) => 100 * (of(noticed) / of(plain) - 1)));

/** Milliseconds of the longest step of all rounds: the mean is capped, so that a stall must show here. */
const longest = (rounds: readonly Round[], who: keyof Round): number =>
  Math.max(...rounds.map((round) => Math.max(...round[who]))) / 1000;

export async function run(): Promise<Report> {
  const rounds = new Map<Service, Round[]>(SERVICES.map((service) => [service, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const service of SERVICES) rounds.get(service)!.push(await against(service));
  }
  const broken = [...rounds].slice(1);
  return {
    name: "webhook",
    title: `webhook: what a broken service adds to a step of one layer, in % over ${STEPS} steps`,
    columns: ["step µs", "p10 %", "median %", "mean %", "p99 %", "longest ms", "without"],
    rows: [...rounds].map(([service, all]) => [
      service,
      median(all.flatMap(({ plain }) => plain)),
      ...[p10, median, mean, p99].map((of) => added(all, of)),
      longest(all, "noticed"),
      longest(all, "plain"),
    ]),
    // Means and p99 are shown, not judged: two trainers without any webhook differ by more than one percent in them.
    aims: broken.flatMap(([service, all]) => [
      { what: `${service}, p10`, measured: added(all, p10), unit: "%", limit: 1, must: true },
      { what: `${service}, median`, measured: added(all, median), unit: "%", limit: 1, must: true },
    ]),
  };
}
