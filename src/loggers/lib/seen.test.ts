// What counts as new, per metric, also after it was stored.
import { expect, it } from "vitest";
import { Seen } from "./seen.ts";

it("knows the latest step of each metric, and keeps it as plain data", () => {
  const seen = new Seen();
  expect(seen.isNew("loss", 0)).toBe(true);
  seen.add("loss", 5);
  seen.add("loss", 3);
  seen.add("__proto__", 1);
  expect([seen.isNew("loss", 5), seen.isNew("loss", 6), seen.isNew("val/loss", 1)]).toEqual([false, true, true]);
  const again = new Seen(JSON.parse(JSON.stringify(seen)) as Record<string, number>);
  expect([again.isNew("loss", 5), again.isNew("loss", 6), again.isNew("__proto__", 1)]).toEqual([false, true, false]);
});
