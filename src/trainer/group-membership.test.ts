import { expect, test } from "vitest";
import { currentPlatform } from "../platform/platform.ts";
import { fakeRegistry } from "../../tests/support/fake-run.ts";
import { localRanks } from "../../tests/support/local-ranks.ts";
import { RunCheckpoints } from "./saving/run-checkpoints.ts";
import { GroupMembership } from "./group-membership.ts";

test("all who ask at once join the same process group", async () => {
  const { run, hooks } = fakeRegistry();
  const state = (): never => {
    throw new Error("there is none");
  };
  const parts = { run, hooks, place: new RunCheckpoints({}, () => undefined), platform: currentPlatform(), state };
  const membership = new GroupMembership(localRanks(2)[0]!, parts);
  const [one, two] = await Promise.all([membership.join(), membership.join()]);
  expect(one).toBeDefined();
  expect(two).toBe(one);
  expect([membership.group, run.group, await membership.join()]).toEqual([one, one, one]);
});
