import { expect, test } from "vitest";
import { launchedRank, launchedSize, RANK_PROCESS, coresOfRank } from "./environment.ts";

const PID = 4711;

test.each([
  ["no launcher", {}, undefined, 0],
  ["Open MPI's mpirun", { OMPI_COMM_WORLD_SIZE: "4", OMPI_COMM_WORLD_RANK: "3", PMIX_RANK: "3" }, 4, 3],
  ["mpirun -n 1", { OMPI_COMM_WORLD_SIZE: "1", OMPI_COMM_WORLD_RANK: "0" }, 1, 0],
  ["srun --mpi=pmix", { SLURM_PROCID: "1", SLURM_NTASKS: "8", SLURM_STEP_NUM_TASKS: "2", PMIX_RANK: "1" }, 2, 1],
  ["srun --mpi=pmi2", { SLURM_PROCID: "5", SLURM_NTASKS: "8", PMI_RANK: "5", PMI_FD: "3" }, 8, 5],
  ["MPICH's mpirun", { PMI_SIZE: "2", PMI_RANK: "1" }, 2, 1],
  ["a batch script, which srun did not start", { SLURM_PROCID: "0", SLURM_NTASKS: "8" }, undefined, 0],
  ["a size that is none", { OMPI_COMM_WORLD_SIZE: "many" }, undefined, 0],
])("%s", (_, env, size, rank) => {
  expect(launchedSize(env, PID)).toBe(size);
  expect(launchedRank(env, PID)).toBe(rank);
});

test("a process that a rank has started is none", () => {
  const env = { OMPI_COMM_WORLD_SIZE: "4", OMPI_COMM_WORLD_RANK: "3" };
  expect(launchedSize({ ...env, [RANK_PROCESS]: String(PID) }, PID)).toBe(4);
  expect(launchedSize({ ...env, [RANK_PROCESS]: "1" }, PID)).toBeUndefined();
  expect(launchedRank({ ...env, [RANK_PROCESS]: "1" }, PID)).toBe(0);
});

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
