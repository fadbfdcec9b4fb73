// Scenes of training under mpirun, played to their end: what every rank has seen of each.
import { runRanks } from "./ranks.ts";
import type { Scene, Seen } from "./scene.ts";

export const CHILD = new URL("./train-child.ts", import.meta.url);

/** What the ranks saw, in their order, by scene. */
export async function play(ranks: number, scenes: readonly Scene[]): Promise<(scene: string) => readonly Seen[]> {
  const { code, notes, stdout, stderr } = await runRanks(ranks, CHILD, { args: [JSON.stringify(scenes)] });
  if (code !== 0) throw new Error(`The ranks ended with ${code}.\n${stdout}${stderr}`);
  const seen = notes.filter(({ note }) => note === "seen") as unknown as Seen[];
  return (scene) => {
    const found = seen.filter((each) => each.scene === scene);
    if (found.length === ranks) return found;
    throw new Error(`${found.length} of ${ranks} ranks saw \`${scene}\`.`);
  };
}

/** The greatest relative difference between two curves of losses. */
export function distance(a: Seen, b: Seen): number {
  if (a.losses.length !== b.losses.length) return Infinity;
  return Math.max(...a.losses.map((loss, i) => Math.abs(loss! - b.losses[i]!) / Math.abs(loss!)));
}
