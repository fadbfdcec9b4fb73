// Reading tables: a CSV file of numbers, categories, dates and quoted text, at once and in chunks, beside pandas.
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readChunks, readTable, Rng } from "hookline/data";
import type { Report } from "./lib/report.ts";
import { median } from "./lib/stats.ts";

/** HOOKLINE_BENCH_ROWS=12000000 makes a file of about 1 GB, which is then read in chunks only. */
const ROWS = Number(process.env.HOOKLINE_BENCH_ROWS ?? 500_000);
const ROUNDS = 5;
const IN_MEMORY = 2_000_000;

function writeRows(file: string): void {
  const rng = new Rng(1);
  const plans = ["basic", "pro", "enterprise", "free trial"];
  const target = openSync(file, "w");
  writeSync(target, "id,age,income,score,plan,city,active,signup,note,churn\n");
  let text = "";
  for (let i = 0; i < ROWS; i++) {
    const age = i % 17 === 0 ? "" : 18 + rng.int(70);
    const note = i % 10 === 0 ? '"said ""hi"", left"' : "none given";
    const day = `2024-${String(1 + (i % 12)).padStart(2, "0")}-${String(1 + (i % 28)).padStart(2, "0")}`;
    text += `${i},${age},${(rng.next() * 1e5).toFixed(2)},${rng.next()},${plans[rng.int(4)]},City ${rng.int(500)},${i % 3 > 0},${day},${note},${i % 5 > 0 ? "yes" : "no"}\n`;
    if (text.length > 2 ** 20 || i === ROWS - 1) {
      writeSync(target, text);
      text = "";
    }
  }
  closeSync(target);
}

async function secondsOf(work: () => Promise<number>): Promise<number> {
  const begun = performance.now();
  const rows = await work();
  if (rows !== ROWS) throw new Error(`${rows} of ${ROWS} rows came back`);
  return (performance.now() - begun) / 1000;
}

const PANDAS = `
import sys, time, pandas
begun = time.perf_counter()
assert len(pandas.read_csv(sys.argv[1])) == int(sys.argv[2])
print(time.perf_counter() - begun)
`;

/** Undefined where there is no pandas. */
function pandasSeconds(file: string): number | undefined {
  const { status, stdout } = spawnSync("/usr/bin/python3", ["-c", PANDAS, file, String(ROWS)], { encoding: "utf8" });
  return status === 0 ? Number(stdout) : undefined;
}

export async function run(): Promise<Report> {
  const dir = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  const file = join(dir, "customers.csv");
  try {
    writeRows(file);
    const megabytes = statSync(file).size / 1e6;
    const chunks = async (): Promise<number> => {
      let rows = 0;
      for await (const table of readChunks(file, { chunkRows: 50_000 })) rows += table.rowCount;
      return rows;
    };
    const whole = async (): Promise<number> => (await readTable(file)).rowCount;
    const [inChunks, atOnce, inPandas]: number[][] = [[], [], []];
    let memory = 0;
    // In turns, so that what else the computer does slows all of them down.
    for (let round = 0; round < ROUNDS; round++) {
      inChunks!.push(await secondsOf(chunks));
      if (round === 0) memory = process.memoryUsage().rss / 1e6;
      if (ROWS > IN_MEMORY) break;
      atOnce!.push(await secondsOf(whole));
      const seconds = pandasSeconds(file);
      if (seconds !== undefined) inPandas!.push(seconds);
    }
    const row = (name: string, times: readonly number[], used?: number): Report["rows"][number] => {
      if (times.length === 0) return [name, megabytes];
      const seconds = median(times);
      return [name, megabytes, seconds, megabytes / seconds, ROWS / seconds / 1000, used];
    };
    const share = inPandas!.length > 0 ? median(inPandas!) / median(atOnce!) : undefined;
    return {
      name: "tables",
      title: `tables: ${ROWS} rows of ten columns from a CSV file into typed columns`,
      columns: ["MB", "seconds", "MB/s", "1000 rows/s", "MB of the process"],
      rows: [row("readTable", atOnce!), row("readChunks", inChunks!, memory), row("pandas.read_csv", inPandas!)],
      aims: [
        { what: "speed of readTable, by that of pandas", measured: share, unit: "×", limit: 0.4, atLeast: true },
        { what: "memory of the process after readChunks", measured: memory, unit: "MB", limit: 300, must: true },
      ],
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
