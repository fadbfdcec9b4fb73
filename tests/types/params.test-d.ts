// What trainer.params() takes and gives: the wrong input is a compile error.
import type { ComputeFn, DeviceTensors, ParamsView } from "hookline";
import { tinyTrainer } from "hookline/testing";
import { expectTypeOf, test } from "vitest";

const trainer = tinyTrainer();

test("the parameters outside of hooks are those of hooks", async () => {
  expectTypeOf(trainer.params()).resolves.toEqualTypeOf<ParamsView>();
  trainer.on("stepEnd", (ctx) => void expectTypeOf(ctx.params).toEqualTypeOf<ParamsView>());
});

test("what a computation takes", async () => {
  const params = await trainer.params();
  const step: ComputeFn = (own, { cache }, { ids }, { value }) => ({ cache: cache!, ids: ids!, value: value!, ...own });
  const cache = params.put({ cache: { data: new Float32Array(2), shape: [2] } });
  const ids = { ids: { data: Int32Array.of(1), shape: [1] } };
  expectTypeOf(params.compute(step, cache, ids, 1)).resolves.toEqualTypeOf<DeviceTensors>();
  void params.compute(step, params.consume(cache), ids, 1);
  // @ts-expect-error -- a text
  void params.compute(step, "cache");
  // @ts-expect-error -- plain numbers in a list are no array
  void params.compute(step, { ids: [1, 2] });
  // @ts-expect-error -- an array without a shape has no name either
  void params.compute(step, Int32Array.of(1));
  // @ts-expect-error -- only what is on the engine can be given up
  params.consume(ids);
  // @ts-expect-error -- names of nested parts have dots
  void params.compute(() => ({ cache: { k: 1 } }));
});
