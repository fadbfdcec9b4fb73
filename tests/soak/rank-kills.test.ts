// Many more kills of ranks than the tests do.
import { expect, test } from "vitest";
import { killRanks } from "../distributed/rank-kills.ts";
import { mpirunWorks } from "../distributed/ranks.ts";

test.skipIf(!mpirunWorks)(
  "40 kills of one of two ranks: the resumed run ends with the same bits",
  { timeout: 3_600_000 },
  async () => {
    expect(await killRanks(40, 1500)).toBe(40);
  },
);
