// What a user writes around a predictor: one row gives one prediction, many give an array, and the form can be named.
import { createPredictHandler, loadPredictor, type Prediction, type PredictionColumns } from "hookline/predict";
import { readTable } from "hookline/data";
import { describe, expectTypeOf, test } from "vitest";

interface Churn {
  readonly churn: "yes" | "no";
  readonly probabilities: Readonly<Record<"yes" | "no", number>>;
}

describe("a predictor", () => {
  test("one row, many rows, columns and tables", async () => {
    const predict = await loadPredictor("runs/churn");
    expectTypeOf(await predict({ age: 41 })).toEqualTypeOf<Prediction>();
    expectTypeOf(await predict([{ age: 41 }, { age: null }])).toEqualTypeOf<Prediction[]>();
    expectTypeOf(await predict.columns({ age: [41, 42], x: new Float32Array(2) })).toEqualTypeOf<PredictionColumns>();
    expectTypeOf(await predict.columns(await readTable("new.csv"))).toEqualTypeOf<PredictionColumns>();
    // @ts-expect-error -- a row is an object
    void predict(3);
  });

  test("with the form of its outputs", async () => {
    await using predict = await loadPredictor<Churn>("runs/churn", { checkpoint: "last", engine: "wasm" });
    const { churn, probabilities } = await predict({ age: 41 });
    expectTypeOf(churn).toEqualTypeOf<"yes" | "no">();
    expectTypeOf(probabilities.yes).toBeNumber();
    expectTypeOf(createPredictHandler(predict)).toEqualTypeOf<(request: Request) => Promise<Response>>();
    // @ts-expect-error -- no such output
    void (await predict({ age: 41 })).price;
  });

  test("sources and options", () => {
    void loadPredictor(new URL("https://example.com/churn"), { onProgress: ({ loaded }) => loaded });
    void loadPredictor({} as FileSystemDirectoryHandle);
    // @ts-expect-error -- no such engine
    void loadPredictor("runs/churn", { engine: "cuda" });
  });
});
