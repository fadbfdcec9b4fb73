import { expect, test } from "vitest";
import { coresOfRank } from "./cores.ts";

const ranks = (n: number, bound = false) => ({
  OMPI_COMM_WORLD_LOCAL_SIZE: String(n),
  ...(bound && { OMPI_MCA_orte_bound_at_launch: "1" }),
});

test.each([
  ["alone, all", {}, 16, 16, 16],
  ["bound to a core, that one", ranks(2, true), 1, 16, 1],
  ["bound to eight, those", ranks(2, true), 8, 16, 8],
  ["bound to a socket, a share of it", ranks(8, true), 16, 32, 4],
  ["not bound, a share of all", ranks(4), 16, 16, 4],
  ["not bound, in a container, a share of what that has", ranks(2), 4, 64, 2],
  ["more ranks than cores, one", ranks(4), 2, 2, 1],
  ["a task of SLURM's, what it was given", { SLURM_CPUS_PER_TASK: "6" }, 48, 48, 6],
  ["mpirun inside SLURM, a share", { SLURM_CPUS_PER_TASK: "6", ...ranks(4) }, 48, 48, 12],
])("%s", (_, env, allowed, all, expected) => {
  expect(coresOfRank(env, allowed, all)).toBe(expected);
});
