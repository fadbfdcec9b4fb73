// Tables as users write them.
import type { TrainerOptions } from "hookline";
import {
  type Column,
  type HostBatch,
  Preprocessor,
  readChunks,
  readTable,
  split,
  standardise,
  Table,
} from "hookline/data";
import { Experiment, holdout, table } from "hookline/experiment";
import { type Layer, linear, mlp } from "hookline/nn";
import { sgd } from "hookline/optim";
import { describe, expectTypeOf, test } from "vitest";

describe("tables", () => {
  test("files, schemas and columns", async () => {
    const read = await readTable("a.csv", { columns: { age: "number" }, rest: "string" });
    expectTypeOf(read).toEqualTypeOf<Table>();
    // @ts-expect-error -- no such type
    void readTable("a.csv", { columns: { age: "int32" } });
    // @ts-expect-error -- a number is no file
    void readTable(3);
    void readTable(new Blob([]));
    void readTable(new Response());
    void readTable(new Blob([]).stream());
    for await (const chunk of readChunks(new URL("file:///a.csv"), { chunkRows: 10 }))
      expectTypeOf(chunk).toEqualTypeOf<Table>();
    const column = read.column("age");
    if (column.type === "string") expectTypeOf(column.codes).toEqualTypeOf<Int32Array>();
    expectTypeOf(column).toEqualTypeOf<Column>();
    // @ts-expect-error -- an object is no cell
    void Table.fromColumns({ a: [{}] });
  });

  test("splits give tables of tables", () => {
    const rows = Table.fromRows([{ a: 1 }]);
    expectTypeOf(split(rows, [0.5, 0.5])).toEqualTypeOf<[Table, Table]>();
    expectTypeOf(split({ x: new Float32Array(2) }, [1])).toEqualTypeOf<[HostBatch]>();
    expectTypeOf(holdout()(rows, 0).main.train).toEqualTypeOf<Table>();
    void new Experiment({
      data: table({ file: "a.csv" }),
      split: holdout({ stratify: "plan" }),
      preprocess: {
        columns: { age: ["impute", standardise()], plan: "oneHot" },
        target: { column: "price", use: "log" },
      },
      model({ datasets, preprocessor }) {
        // Models see what the preprocessor made of the tables.
        expectTypeOf(datasets.train).toEqualTypeOf<HostBatch>();
        return linear(preprocessor!.width, 1);
      },
      optimizer: sgd({ lr: 0.1 }),
    });
    void new Experiment({
      data: () => rows,
      // @ts-expect-error -- a transform's name with a typo
      preprocess: { columns: { age: "standardize" } },
      model: mlp({ hidden: [4] }),
      optimizer: sgd({ lr: 0.1 }),
    });
    expectTypeOf(mlp({ hidden: [4], in: 2, out: 1 })).toEqualTypeOf<Layer>();
    // @ts-expect-error -- widths come from an experiment: a trainer needs them given
    void ({ model: mlp({ hidden: [4] }) } satisfies Pick<TrainerOptions, "model">);
  });

  test("predictions are classes or numbers", () => {
    const predicted = new Preprocessor({ columns: "auto" }).decode({ data: new Float32Array(1), shape: [1] });
    if (predicted.kind === "label") expectTypeOf(predicted.labels).toEqualTypeOf<readonly string[]>();
    else expectTypeOf(predicted.values).toEqualTypeOf<Float64Array>();
  });
});
