// A run on customers of different types, with gaps, as tests of predictions need it: trained in a moment.
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { modelCheckpoint } from "hookline";
import { readTable, Rng, type Table, type TransformSpec } from "hookline/data";
import { Experiment, type SplitData } from "hookline/experiment";
import { accuracy, crossEntropy, mlp } from "hookline/nn";
import { adam } from "hookline/optim";
import { testEngine } from "hookline/testing";

/** Customers who leave when they are young and on the basic plan: lines of CSV without a header. */
function customers(rows: number, seed: number): string[] {
  const rng = new Rng(seed);
  return Array.from({ length: rows }, (_, i) => {
    const age = 20 + rng.int(50);
    const plan = ["basic", "pro", "team"][rng.int(3)]!;
    const leaves = age < 45 && plan === "basic" ? "yes" : "no";
    const month = String(1 + rng.int(12)).padStart(2, "0");
    return [`00${i}`, rng.next() < 0.1 ? "" : age, plan, rng.next() < 0.5, `2023-${month}-15`, leaves].join(",");
  });
}

const HEADER = "id,age,plan,active,since,churn";

/** Writes a file of customers and returns its path. */
export function writeCustomers(dir: string, name = "new.csv", rows = 300, seed = 2): string {
  const file = join(dir, name);
  writeFileSync(file, `${[HEADER, ...customers(rows, seed)].join("\n")}\n`);
  return file;
}

const split = (table: Table): SplitData<Table> => ({
  main: { train: table.slice(0, 300), val: table.slice(300, 350), test: table.slice(350) },
});

type Columns = Readonly<Record<string, TransformSpec>>;
const COLUMNS: Columns = {
  age: ["impute", "standardise"],
  plan: "oneHot",
  active: "passThrough",
  since: "dateParts",
};

/** Trains on some of the columns, and returns the run's directory. */
export async function trainChurn(dir: string, name = "churn", columns: Columns = COLUMNS): Promise<string> {
  const runDir = join(dir, "runs", name);
  const file = writeCustomers(dir, "customers.csv", 400, 1);
  await new Experiment({
    name,
    data: () => readTable(file, { columns: { id: "string" } }),
    split,
    preprocess: { columns, target: "churn" },
    model: mlp({ hidden: [16] }),
    loss: crossEntropy(),
    metrics: { accuracy: accuracy() },
    optimizer: adam({ lr: 0.03 }),
    loader: { batchSize: 32 },
    epochs: 8,
    engine: testEngine(),
    signals: false,
    runDir,
    hooks: [modelCheckpoint({ monitor: "val/loss" })],
  }).run();
  return runDir;
}
