import { expect, test } from "vitest";
import { currentPlatform } from "../platform/platform.ts";
import { fakeRegistry } from "../../tests/support/fake-run.ts";
import { localRanks } from "../../tests/support/local-ranks.ts";
import { Place } from "./saving/place.ts";
import { Together } from "./together.ts";

test("all who ask at once join the same team", async () => {
  const { run, hooks } = fakeRegistry();
  const state = (): never => {
    throw new Error("there is none");
  };
  const parts = { run, hooks, place: new Place({}, () => undefined), platform: currentPlatform(), state };
  const together = new Together(localRanks(2)[0]!, parts);
  const [one, two] = await Promise.all([together.join(), together.join()]);
  expect(one).toBeDefined();
  expect(two).toBe(one);
  expect([together.team, run.team, await together.join()]).toEqual([one, one, one]);
});
