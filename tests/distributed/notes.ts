// For scripts that run under mpirun: tells the test what this rank sees. Each rank has a file: lines never mix.
import { appendFileSync } from "node:fs";

export interface RankNote {
  readonly rank: number;
  readonly note: string;
  readonly pid: number;
  readonly at: number;
  readonly [key: string]: unknown;
}

/** The folder of this run's notes. */
export const NOTES_VARIABLE = "HOOKLINE_TEST_NOTES";

/** Works before MPI is begun too. What a kill follows has been written. */
export function note(kind: string, fields: Readonly<Record<string, unknown>> = {}): void {
  const rank = Number(process.env.OMPI_COMM_WORLD_RANK ?? 0);
  const line: RankNote = { rank, note: kind, pid: process.pid, at: Date.now(), ...fields };
  appendFileSync(`${process.env[NOTES_VARIABLE]}/rank-${rank}.jsonl`, `${JSON.stringify(line)}\n`);
}
