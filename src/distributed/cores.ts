// How many cores a rank may use, where several share a machine.
import type { Environment } from "./environment.ts";

/** `allowed` are those that this process may run on, `all` those of the machine. At least 1. */
export function coresOfRank(env: Environment, allowed: number, all: number): number {
  const perTask = positive(env.SLURM_CPUS_PER_TASK);
  if (perTask !== undefined && env.OMPI_COMM_WORLD_LOCAL_SIZE === undefined) return Math.min(allowed, perTask);
  const ranks = positive(env.OMPI_COMM_WORLD_LOCAL_SIZE) ?? 1;
  // Bound to a core, a rank has it alone; to a socket, it shares it. Of a rank that is not bound, all have what it has.
  const isBound = env.OMPI_MCA_orte_bound_at_launch === "1";
  const share = Math.floor((isBound ? all : allowed) / ranks);
  return Math.max(1, Math.min(allowed, share));
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text);
  return value >= 1 ? value : undefined;
}
