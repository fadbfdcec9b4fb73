// A run that is resumed after any of its steps ends as if nothing had happened, bit for bit.
import { memoryStore } from "hookline/checkpoint";
import { describe, expect, test } from "vitest";
import { contents, scenario, STEPS, storeWith, type Way } from "./scenario.ts";

describe.each<Way>(["fused", "split"])("%s steps", (way) => {
  test(`resumed after each of ${STEPS} steps: parameters, optimizer, losses, trace and hooks are the same`, async () => {
    const store = memoryStore();
    const whole = scenario(store, way);
    const expected = await whole.trainer.fit();
    const params = await whole.trainer.stateDict();
    await whole.trainer.close();
    const last = contents(await store.load());
    // Where an epoch ends there are two: before its evaluation, and after `epochEnd`.
    const saved = await store.list();
    expect(saved.length).toBeGreaterThan(STEPS + 2);
    for (const { name, step } of saved.filter((each) => each.step < STEPS)) {
      const own = await storeWith(store, name);
      const { trainer, traceAfter } = scenario(own, way);
      const result = await trainer.fit({ resume: "auto" });
      const where = `resumed from ${name}`;
      expect(result.resumed, where).toMatchObject({ step, missing: [], orphaned: [], changed: [] });
      expect(await trainer.stateDict(), where).toEqual(params);
      await trainer.close();
      expect(result.metrics, where).toEqual(expected.metrics);
      expect(result.history, where).toEqual(expected.history);
      expect(traceAfter(), where).toEqual(whole.traceAfter(name));
      expect(contents(await own.load()), where).toEqual(last);
    }
  });
});
