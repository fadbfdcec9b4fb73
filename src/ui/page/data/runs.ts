// The list of runs, kept up to date by asking for what has changed.
import { batch, computed, signal } from "@preact/signals";
import type { RunRow, RunsAnswer, ServerHello, StudyRow } from "../../wire.ts";
import { explain, get } from "./api.ts";

const byId = signal<ReadonlyMap<string, RunRow>>(new Map());
export const unreadable = signal<RunsAnswer["unreadable"]>({ some: [], count: 0 });
export const runsError = signal<string | null>(null);
/** False until the first answer has come. */
export const runsKnown = signal(false);
export const hello = signal<ServerHello | null>(null);
export const studies = signal<readonly StudyRow[] | null>(null);

/** Newest first. */
export const runs = computed(() => [...byId.value.values()].sort((a, b) => b.startedAt - a.startedAt));

let rev: number | undefined;
let asking = false;
let askAgain = false;

export async function refreshRuns(): Promise<void> {
  askAgain = asking;
  if (asking) return;
  asking = true;
  try {
    const [server, answer] = await Promise.all([
      hello.peek() ?? get<ServerHello>("hello"),
      get<RunsAnswer>(rev === undefined ? "runs" : `runs?since=${rev}`),
    ]);
    rev = answer.rev;
    // Drawn once for both answers.
    batch(() => {
      hello.value = server;
      takeRows(answer);
      runsKnown.value = true;
      runsError.value = null;
    });
  } catch (error) {
    runsError.value = explain(error);
  } finally {
    asking = false;
  }
  if (askAgain) await refreshRuns();
}

/** The bell rings for a page that has just opened too: nothing is drawn again for an answer without news. */
function takeRows({ rows, gone, unreadable: now }: RunsAnswer): void {
  if (JSON.stringify(now) !== JSON.stringify(unreadable.peek())) unreadable.value = now;
  if (rows.length + gone.length === 0) return;
  const next = new Map(byId.peek());
  for (const row of rows) next.set(row.id, row);
  for (const id of gone) next.delete(id);
  byId.value = next;
}

export async function refreshStudies(): Promise<void> {
  studies.value = await get<readonly StudyRow[]>("studies");
}
