// hookline/runs: what programs that show runs get.
import {
  findOwner,
  listRuns,
  readRun,
  tailRun,
  type Liveness,
  type RunSummary,
  type TailedRecord,
} from "hookline/runs";
import { expectTypeOf, test } from "vitest";

test("runs", () => {
  expectTypeOf(listRuns("runs")).resolves.toEqualTypeOf<RunSummary[]>();
  expectTypeOf(listRuns).parameter(1).toEqualTypeOf<{ readonly exact?: boolean } | undefined>();
  expectTypeOf(tailRun("runs/a").next()).resolves.toHaveProperty("records").toEqualTypeOf<readonly TailedRecord[]>();
  expectTypeOf(readRun("runs/a")).resolves.toHaveProperty("steps").toEqualTypeOf<Float64Array>();
  expectTypeOf(findOwner("runs/a")?.liveness).toEqualTypeOf<Liveness | undefined>();
  // @ts-expect-error -- no such option
  void listRuns("runs", { all: true });
});
