// "Did you mean …?": the nearest known name, for every message about a name that does not exist.

/** Edit distance with adjacent transpositions, the mistakes fingers make. */
export function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) => Array.from({ length: b.length + 1 }, () => i));
  for (let j = 0; j <= b.length; j++) rows[0]![j] = j;
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(rows[i - 1]![j]! + 1, rows[i]![j - 1]! + 1, rows[i - 1]![j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, rows[i - 2]![j - 2]! + 1);
      rows[i]![j] = best;
    }
  }
  return rows[a.length]![b.length]!;
}

/** What other systems call it: no typo, but what a newcomer types. */
const ALIASES: Readonly<Record<string, string>> = {
  maxepochs: "epochs",
  numepochs: "epochs",
  numtrainepochs: "epochs",
  maxsteps: "steps",
  callbacks: "hooks",
  learningrate: "lr",
  warmupsteps: "warmup",
  gradientclipval: "clipNorm",
  maxgradnorm: "clipNorm",
  accumulategradbatches: "accumulate",
  gradientaccumulationsteps: "accumulate",
  traindataloader: "train",
  valdataloader: "eval",
  onbatchstart: "onBatchBegin",
  onepochstart: "onEpochBegin",
  ontrainstart: "onTrainBegin",
  onvalidationend: "onEvalEnd",
  onvalidationstart: "onEvalBegin",
  ontrainbatchend: "onBatchEnd",
  ontrainbatchstart: "onBatchBegin",
};

/** The closest of `known` to `name`, or undefined when nothing is close enough to be a typo. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  const wanted = name.toLowerCase();
  const options = [...known];
  const alias = ALIASES[wanted.replaceAll("_", "")];
  if (alias !== undefined && options.includes(alias)) return alias;
  let best: string | undefined;
  // More than half of a short name wrong is another word, not a typo.
  let bestDistance = Math.min(Math.max(2, Math.floor(name.length / 3)) + 1, Math.ceil(name.length / 2));
  for (const candidate of options) {
    const d = distance(wanted, candidate.toLowerCase());
    if (d < bestDistance) [best, bestDistance] = [candidate, d];
  }
  return best;
}

/** ` Did you mean \`x\`?` or an empty string, to append to a message. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const hit = nearest(name, known);
  return hit === undefined ? "" : ` Did you mean \`${hit}\`?`;
}
