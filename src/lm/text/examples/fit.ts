// Sequences that are longer than a row: an error, left out, cut at the end, or continued in further rows.
import { DataError } from "../../../core/errors.ts";
import { IGNORED } from "./convert.ts";

/** The tokens of one text, and for each the label of the next. */
export interface Sequence {
  readonly x: Int32Array;
  readonly y: Int32Array;
  /** Where it comes from. */
  readonly line: number;
}

export type TooLong = "error" | "drop" | "cut" | "split";

/** What became of long ones. */
export interface Fitted {
  readonly sequences: readonly Sequence[];
  readonly longest: number;
  readonly cut: number;
  readonly split: number;
  /** Left out for their length, or since nothing that counts was left of them. */
  readonly dropped: number;
}

/** @param group sequences that belong with each other, such as both answers of a preference: none is left without the others */
export function fitSequences(
  sequences: readonly Sequence[],
  { length, tooLong, group, source }: { length: number; tooLong: TooLong; group: number; source: string },
): Fitted {
  const fitted: Sequence[] = [];
  let [longest, cut, split, dropped] = [0, 0, 0, 0];
  for (let at = 0; at < sequences.length; at += group) {
    const members = sequences.slice(at, at + group);
    const size = Math.max(...members.map(({ x }) => x.length));
    longest = Math.max(longest, size);
    if (size <= length) fitted.push(...members);
    else if (tooLong === "error") {
      throw new DataError(
        `${source}:${members[0]!.line}: ${size} tokens are more than the ${length} of a row. Give a larger \`length\`, or tooLong: "cut" or "drop".`,
      );
    } else if (tooLong === "drop") dropped++;
    else if (tooLong === "split") {
      split++;
      fitted.push(...members.flatMap((each) => partsOf(each, length)));
    } else {
      const shorter = members.map((each) => part(each, 0, length));
      cut++;
      if (shorter.every(hasLabels)) fitted.push(...shorter);
      else dropped++;
    }
  }
  return { sequences: fitted, longest, cut, split, dropped };
}

const part = ({ x, y, line }: Sequence, from: number, to: number): Sequence => ({
  x: x.subarray(from, to),
  y: y.subarray(from, to),
  line,
});

/** All labels stay: each token still predicts the next, also across a border. */
function partsOf(sequence: Sequence, length: number): Sequence[] {
  const count = Math.ceil(sequence.x.length / length);
  const parts = Array.from({ length: count }, (_, i) => part(sequence, i * length, (i + 1) * length));
  return parts.filter(hasLabels);
}

const hasLabels = ({ y }: Sequence): boolean => y.some((label) => label !== IGNORED);
