// From a table to an ONNX model: what was learned of the columns is in the exported folder, and onnxruntime with it
// decides as the predictor does.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Preprocessor, readTable } from "hookline/data";
import { exportModel, loadPredictor } from "hookline/predict";
import { parseExact } from "hookline/runs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onnxSession } from "../support/onnx-session.ts";
import { trainChurn, writeCustomers } from "./churn-run.ts";

const dir = mkdtempSync(join(tmpdir(), "export-churn-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const at = (...parts: string[]): string => join(dir, ...parts);
let runDir: string;
let file: string;
beforeAll(async () => {
  runDir = await trainChurn(dir);
  file = writeCustomers(dir, "new.csv", 40);
});

/** What a predictor says of the new customers. */
async function decisions(from: string): Promise<string[]> {
  const table = await readTable(file, { columns: { id: "string" } });
  const rows = Array.from({ length: table.rowCount }, (_, i) => table.row(i));
  await using predict = await loadPredictor(from, { engine: "wasm" });
  return (await predict(rows as never)).map(({ churn }) => String(churn));
}

test("the exported folder predicts as the run does, from raw rows", async () => {
  await exportModel(runDir, at("folder"));
  expect(await decisions(at("folder"))).toEqual(await decisions(runDir));
});

test("so does onnxruntime, with the preprocessor beside the model", async () => {
  await exportModel(runDir, at("onnx"), { format: "onnx" });
  const model = parseExact(readFileSync(at("onnx", "model.json"), "utf8")) as { preprocessor: unknown };
  const preprocessor = Preprocessor.fromJSON(model.preprocessor);
  const table = await readTable(file, { columns: { id: "string" } });
  const run = await onnxSession([readFileSync(at("onnx", "model.onnx"))]);
  const { output } = await run(preprocessor.transform(table, { target: false }));
  const [no, yes] = [0, 1];
  const labels = Array.from({ length: table.rowCount }, (_, i) =>
    output!.data[2 * i + yes]! > output!.data[2 * i + no]! ? "yes" : "no",
  );
  const expected = await decisions(runDir);
  expect(new Set(expected).size).toBe(2);
  expect(labels).toEqual(expected);
});
