// The model of the serving benchmark: customers with twenty columns, trained for a moment. What it predicts does not matter.
import { modelCheckpoint } from "hookline";
import { Rng, Table } from "hookline/data";
import { Experiment } from "hookline/experiment";
import { crossEntropy, mlp } from "hookline/nn";
import { adam } from "hookline/optim";

const NUMBERS = 14;
const CATEGORIES = 6;

type Row = Record<string, number | string>;

function customers(rows: number, seed: number): Row[] {
  const rng = new Rng(seed);
  return Array.from({ length: rows }, () => {
    const row: Row = {};
    for (let i = 0; i < NUMBERS; i++) row[`number${i}`] = Math.round(rng.normal() * 1e4) / 100;
    for (let i = 0; i < CATEGORIES; i++) row[`category${i}`] = `c${rng.int(8)}`;
    return { ...row, churn: (row.number0 as number) + rng.normal() > 0 ? "yes" : "no" };
  });
}

/** The rows without the label, as a client sends them. */
export const bodies = (rows: number, seed: number): string[] =>
  customers(rows, seed).map((row) => JSON.stringify({ ...row, churn: undefined }));

export async function trainServed(runDir: string, hidden: readonly number[]): Promise<void> {
  const table = Table.fromRows(customers(2000, 1));
  await new Experiment({
    data: () => table,
    split: () => ({ main: { train: table } }),
    preprocess: { columns: "auto", target: "churn" },
    model: mlp({ hidden: [...hidden] }),
    loss: crossEntropy(),
    optimizer: adam({ lr: 0.001 }),
    loader: { batchSize: 100 },
    epochs: 1,
    signals: false,
    runDir,
    hooks: [modelCheckpoint({ every: "1 epoch" })],
    warn: () => undefined,
  }).run();
}
