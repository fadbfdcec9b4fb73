// hookline predict <model> <file>: predictions for the rows of a file, written beside them. Memory does not grow with it.
import { open, rename, rm } from "node:fs/promises";
import { extname } from "node:path";
import { canRedraw, surroundings } from "../../terminal/style.ts";
import { terminal, type Live } from "../../terminal/terminal.ts";
import { loadPredictor } from "../../predict/load-predictor.ts";
import type { ColumnSpec, Predictor } from "../../predict/types.ts";
import type { ColumnType } from "../../data/table/column.ts";
import { printOut } from "../../platform/print.ts";
import { UsageError, checkNewFile } from "../errors.ts";
import { keepStdoutFree, say, shownPath } from "../output.ts";
import { originalRows } from "./original-rows.ts";
import { PredictionText, ROW_ENDINGS } from "./prediction-rows.ts";

/** Rows in memory at a time, and rows that are computed together. */
const CHUNK_ROWS = 8192;
const BATCH_ROWS = 1024;
/** Milliseconds between two drawings of the progress. */
const DRAW_MS = 200;

export interface FileFlags {
  readonly checkpoint: string;
  readonly model?: string | undefined;
  readonly out?: string | undefined;
  readonly overwrite?: boolean | undefined;
}

export async function predictFile(path: string, file: string, flags: FileFlags): Promise<void> {
  const { out, overwrite = false } = flags;
  const format = out === undefined ? "jsonl" : ROW_ENDINGS[extname(out).toLowerCase()];
  if (format === undefined)
    throw new UsageError(
      `${out} has no known format. Its extension must be one of ${Object.keys(ROW_ENDINGS).join(", ")}.`,
    );
  if (out !== undefined) checkNewFile(out, overwrite);
  const giveStdoutBack = keepStdoutFree();
  const predict = await loadPredictor(path, {
    checkpoint: flags.checkpoint,
    name: flags.model,
    batchSizes: [BATCH_ROWS],
  }).finally(giveStdoutBack);
  try {
    const schema = schemaOf(predict);
    const text = new PredictionText(format);
    const progress = new Progress(out !== undefined);
    const lines = async function* (): AsyncGenerator<string> {
      for await (const chunk of originalRows(file, schema, CHUNK_ROWS)) {
        if (chunk.table.rowCount === 0) throw new UsageError(`${file} has no rows.`);
        yield text.lines(chunk, await predict.columns(chunk.table));
        progress.add(chunk.table.rowCount);
      }
    };
    await (out === undefined ? printAll(lines()) : writeAll(out, lines())).finally(() => progress.end());
    say(`${out === undefined ? "" : `${out}: `}${count(progress.rows)} rows, of ${shownPath(predict.source)}`);
  } finally {
    await predict.close();
  }
}

const count = (rows: number): string => rows.toLocaleString("en-US");

/** The columns that the model needs. */
function schemaOf({ signature, source }: Predictor): Record<string, ColumnType> {
  const inputs = Object.entries(signature.inputs ?? {});
  const typed = inputs.filter((entry): entry is [string, ColumnSpec] => "type" in entry[1]);
  if (inputs.length > 0 && typed.length === inputs.length)
    return Object.fromEntries(typed.map(([name, { type }]) => [name, type]));
  throw new UsageError(
    `The model of ${shownPath(source)} was trained without \`preprocess\`, so it does not know columns of a file. Use --on test, val or train for its own data.`,
  );
}

/** Waits for a slow reader, so that the rows do not pile up in memory; ends when there is none any more. */
async function printAll(lines: AsyncIterable<string>): Promise<void> {
  const { stdout } = process;
  for await (const part of lines) {
    printOut(part);
    if (stdout.writableNeedDrain)
      await new Promise<void>((resolve) => {
        stdout.once("drain", resolve);
        stdout.once("close", resolve);
      });
    if (stdout.destroyed) return;
  }
}

/** Under another name until it is complete. */
async function writeAll(out: string, lines: AsyncIterable<string>): Promise<void> {
  const beside = `${out}.${crypto.randomUUID()}.tmp`;
  const handle = await open(beside, "wx");
  try {
    for await (const part of lines) await handle.writeFile(part);
    await handle.close();
    await rename(beside, out);
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(beside, { force: true });
    throw error;
  }
}

/** A line at the bottom of the terminal, if the rows themselves do not go there. */
class Progress {
  rows = 0;
  readonly #since = performance.now();
  readonly #live: Live | undefined;
  #drawnAt = 0;

  constructor(isShown: boolean) {
    const around = surroundings();
    if (isShown && around && canRedraw(around)) this.#live = terminal()?.open(() => [this.#line()]);
  }

  #line(): string {
    const seconds = (performance.now() - this.#since) / 1000;
    return `${count(this.rows)} rows, ${count(Math.round(this.rows / Math.max(seconds, 0.001)))} rows/s`;
  }

  add(rows: number): void {
    this.rows += rows;
    const now = performance.now();
    if (now - this.#drawnAt < DRAW_MS) return;
    this.#drawnAt = now;
    this.#live?.draw();
  }

  end(): void {
    this.#live?.close();
  }
}
