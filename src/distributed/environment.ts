// What a launcher (mpirun, srun) has put into the environment of the processes that it started.

export type Environment = Readonly<Record<string, string | undefined>>;

/** Set by a rank for the processes that it starts itself: they inherit the launcher's variables, and are no ranks. */
export const RANK_PROCESS = "HOOKLINE_RANK_PID";

/** Set by `hookline launch`: the path of a file into which the first rank that fails writes its exit code. */
export const FAILURE_FILE = "HOOKLINE_FAILURE_FILE";

/** Which of the launcher's processes this is, from 0; 0 where none started it, or it started one. */
export function launchedRank(env: Environment, pid: number): number {
  if ((launchedSize(env, pid) ?? 1) === 1) return 0;
  return Number(env.OMPI_COMM_WORLD_RANK ?? env.PMIX_RANK ?? env.PMI_RANK ?? env.SLURM_PROCID ?? 0);
}

/** How many processes the launcher started; undefined where none did. */
export function launchedSize(env: Environment, pid: number): number | undefined {
  const owner = env[RANK_PROCESS];
  if (owner !== undefined && owner !== String(pid)) return undefined;
  const given = env.OMPI_COMM_WORLD_SIZE ?? env.PMI_SIZE ?? (isSlurmTask(env) ? slurmTasks(env) : undefined);
  const size = Number(given);
  return given !== undefined && Number.isInteger(size) && size >= 1 ? size : undefined;
}

/** A batch script itself has SLURM's variables too, but nothing through which processes find each other. */
const isSlurmTask = (env: Environment): boolean =>
  env.SLURM_PROCID !== undefined && (env.PMIX_RANK ?? env.PMI_RANK ?? env.PMI_FD) !== undefined;

const slurmTasks = (env: Environment): string | undefined => env.SLURM_STEP_NUM_TASKS ?? env.SLURM_NTASKS;

// How many cores a rank may use, where several share a machine.

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
