// Do all ranks start the same training? Each describes it as named texts; where those differ, all ranks fail with one error.
import { DistributedError } from "../core/errors.ts";
import { hashOf } from "./desync.ts";
import { encode, gatherMessages } from "./message.ts";
import type { Strategy } from "./strategy.ts";

/** What must be the same on all ranks, by name. A name that a rank lacks counts as a difference. */
export type StartFacts = Readonly<Record<string, string>>;

/** Differences that an error lists. */
const MOST_SHOWN = 8;

/**
 * The error to be thrown, on all ranks alike; undefined when they agree. Every rank reduces a vector of the same length,
 * whatever it has to tell, so that ranks that differ cannot deadlock here.
 */
export async function findUnlikeStarts(strategy: Strategy, facts: StartFacts): Promise<DistributedError | undefined> {
  const { rank, size } = strategy;
  const bytes = Uint8Array.from(encode(facts));
  const digest = hashOf(bytes);
  // The greatest and the least digest, then the length of each rank's facts.
  const exchanged = new Float64Array(2 + size);
  exchanged[0] = digest;
  exchanged[1] = -digest;
  exchanged[2 + rank] = bytes.length;
  await strategy.allReduce(exchanged, "max");
  if (exchanged[0] === -exchanged[1]) return undefined;
  const gathered = await gatherMessages(strategy, bytes, Array.from(exchanged.subarray(2)));
  return unlikeError(gathered.map(({ said }) => said as StartFacts));
}

/** `ranks` has the facts of each rank. */
function unlikeError(ranks: readonly StartFacts[]): DistributedError {
  const names = new Set(ranks.flatMap((facts) => Object.keys(facts)));
  const differing = [...names].filter((name) => new Set(ranks.map((facts) => facts[name])).size > 1);
  const lines = differing.slice(0, MOST_SHOWN).map((name) => `\n  ${name}: ${whoHasWhat(ranks, name)}`);
  const rest = differing.length - lines.length;
  return new DistributedError(
    `The ${ranks.length} ranks were not started alike, so they would not train one model:${lines.join("")}${rest > 0 ? `\n  and ${rest} more` : ""}\nStart all ranks with the same options and the same data, in the same order: a loader of your own draws random numbers from the seed that \`begin\` gets.`,
  );
}

/** The main rank's value last: the others are compared with it. */
function whoHasWhat(ranks: readonly StartFacts[], name: string): string {
  const ranksOf = new Map<string | undefined, number[]>();
  ranks.forEach((facts, rank) => ranksOf.set(facts[name], [...(ranksOf.get(facts[name]) ?? []), rank]));
  const told = [...ranksOf].map(
    ([value, list]) =>
      `${list.length === 1 ? `rank ${list[0]} has` : `ranks ${list.join(", ")} have`} ${value ?? "none"}`,
  );
  return [...told.slice(1), told[0]].join(", ");
}
