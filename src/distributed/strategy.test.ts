import { expect, test, vi } from "vitest";
import { RANK_PROCESS } from "./environment.ts";
import { type Strategy, checkStrategy, openStrategy, single } from "./strategy.ts";

test("a process that no launcher started is alone", async () => {
  expect(await openStrategy("auto")).toBe(single);
  expect(await openStrategy("single")).toBe(single);
});

test("so is one that a rank has started", async () => {
  vi.stubEnv("OMPI_COMM_WORLD_SIZE", "4");
  vi.stubEnv(RANK_PROCESS, "1");
  expect(await openStrategy("auto")).toBe(single);
  vi.unstubAllEnvs();
});

test("a strategy of one's own is used as it is", async () => {
  const own: Strategy = { ...single, name: "own" };
  expect(await openStrategy(own)).toBe(own);
  expect(() => checkStrategy(own)).not.toThrow();
});

test("names are checked", () => {
  for (const name of ["auto", "single", "mpi"]) expect(() => checkStrategy(name)).not.toThrow();
  expect(() => checkStrategy("mpl")).toThrow(
    'Trainer: Expected `strategy` to be "auto", "single", "mpi" or a Strategy, got `"mpl"` (string). Did you mean',
  );
  expect(() => checkStrategy({})).toThrow("or a Strategy, got an object (Object)");
});
