// Preprocessing of a million rows of 20 columns, fitted and transformed, in turn with scikit-learn's ColumnTransformer on
// the same table: one of numbers and text, and one of numbers alone. Numbers for it are float64 in a pandas frame, and text is objects, as pandas reads a CSV file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Column, Preprocessor, Rng, Table, type TransformSpec } from "hookline/data";
import type { Report } from "./lib/report.ts";
import { median } from "./lib/stats.ts";

const ROWS = Number(process.env.HOOKLINE_BENCH_ROWS ?? 1_000_000);
const ROUNDS = 5;

interface Timed {
  /** Seconds. */
  readonly fit: number;
  readonly transform: number;
  /** The number of features. */
  readonly width: number;
}

const times = (count: number, use: string): string[] => Array.from({ length: count }, () => use);
const NUMBERS = [...times(5, "standardise"), ...times(4, "impute"), "minMax", "minMax", "log", "quantile"];

/** The transform of each column. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  "13 columns of numbers, 7 of text": [...NUMBERS, ...times(6, "oneHot"), "ordinal"],
  "20 columns of numbers": [...NUMBERS, ...times(7, "standardise")],
};

const SPECS: Readonly<Record<string, TransformSpec>> = {
  impute: ["impute", "standardise"],
  log: ["log", "standardise"],
};

function makeColumn(use: string, number: number): Column {
  const rng = new Rng(number);
  if (use === "oneHot" || use === "ordinal") {
    const names = Array.from({ length: use === "ordinal" ? 50 : 8 }, (_, i) => `category ${i}`);
    return { type: "string", names, codes: Int32Array.from({ length: ROWS }, () => rng.int(names.length)) };
  }
  const gaps = use === "impute" ? 0.1 : 0;
  const value = (): number => (use === "log" ? Math.exp(rng.normal()) : 50 + 10 * rng.normal());
  return { type: "number", values: Float64Array.from({ length: ROWS }, () => (rng.next() < gaps ? NaN : value())) };
}

function ours(table: Table, uses: readonly string[]): Timed {
  const columns = Object.fromEntries(uses.map((use, i) => [`c${i}`, SPECS[use] ?? use])) as Record<
    string,
    TransformSpec
  >;
  const start = performance.now();
  const preprocessor = new Preprocessor({ columns }).fit(table);
  const fitted = performance.now();
  const { x } = preprocessor.transform(table);
  const end = performance.now();
  return { fit: (fitted - start) / 1000, transform: (end - fitted) / 1000, width: x!.shape[1]! };
}

/** Undefined where scikit-learn is not installed. */
async function theirs({ columns }: Table, uses: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  const about = Object.entries(columns).map(([name, column], i) => {
    const values = column.type === "string" ? column.codes : column.values;
    writeFileSync(join(folder, String(i)), new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    return { name, use: uses[i], ...(column.type === "string" && { names: column.names }) };
  });
  writeFileSync(join(folder, "columns.json"), JSON.stringify(about));
  const script = fileURLToPath(new URL("./lib/sklearn-preprocess.py", import.meta.url));
  const child = spawn(process.env.HOOKLINE_PYTHON ?? "/usr/bin/python3", ["-W", "ignore", script, folder], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "close").catch(() => undefined);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const first = await lines.next();
  rmSync(folder, { recursive: true });
  if (first.done) return undefined;
  return {
    version: (JSON.parse(first.value) as { version: string }).version,
    async measure(): Promise<Timed> {
      child.stdin.write("\n");
      return JSON.parse((await lines.next()).value as string) as Timed;
    },
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}

async function compare(title: string, uses: readonly string[]): Promise<Report> {
  const table = Table.fromColumns(Object.fromEntries(uses.map((use, i) => [`c${i}`, makeColumn(use, i)])));
  const sklearn = await theirs(table, uses);
  const timed: { ours: Timed[]; theirs: Timed[] } = { ours: [], theirs: [] };
  ours(table.slice(0, ROWS / 10), uses);
  for (let round = 0; round < ROUNDS; round++) {
    timed.ours.push(ours(table, uses));
    if (sklearn) timed.theirs.push(await sklearn.measure());
  }
  await sklearn?.close();
  const rows = [
    row("hookline", timed.ours),
    row(`scikit-learn ${sklearn?.version ?? "(not installed)"}`, timed.theirs),
  ];
  const [own, other] = rows.map(([, , , total]) => total);
  return {
    name: "preprocess",
    title: `preprocessing: seconds for ${ROWS} rows, ${title}; median of ${ROUNDS} rounds, in turn`,
    columns: ["fit", "transform", "both", "features"],
    rows,
    aims: [
      {
        what: `speed beside scikit-learn's, ${title}`,
        measured: other === undefined ? undefined : other / own!,
        unit: "×",
        limit: 0.5,
        atLeast: true,
        must: true,
      },
    ],
  };
}

function row(label: string, all: readonly Timed[]): Report["rows"][number] {
  const of = (seconds: (one: Timed) => number): number | undefined =>
    all.length > 0 ? median(all.map(seconds)) : undefined;
  const both = of(({ fit, transform }) => fit + transform);
  return [label, of(({ fit }) => fit), of(({ transform }) => transform), both, all[0]?.width];
}

export async function run(): Promise<Report[]> {
  const reports: Report[] = [];
  for (const [title, uses] of Object.entries(TABLES)) reports.push(await compare(title, uses));
  return reports;
}
