// Tokenizers in the manner of SentencePiece put a space before every text. Where a text continues another, as an answer
// continues its prompt, there must be none: the same tokenizer without the steps that add it.

interface Step {
  readonly type?: string;
  readonly prepend_scheme?: string;
  readonly add_prefix_space?: boolean;
  readonly normalizers?: readonly Step[];
  readonly pretokenizers?: readonly Step[];
}

interface Steps {
  readonly normalizer?: Step | null;
  readonly pre_tokenizer?: Step | null;
}

/** The content of a tokenizer.json without them; undefined where it has none. */
export function withoutPrefix(json: Steps): object | undefined {
  const [normalizer, preTokenizer] = [stripped(json.normalizer), stripped(json.pre_tokenizer)];
  if (normalizer === json.normalizer && preTokenizer === json.pre_tokenizer) return undefined;
  return { ...json, normalizer, pre_tokenizer: preTokenizer };
}

/** The same object where nothing is to be changed. */
function stripped(step: Step | null | undefined): Step | null | undefined {
  if (!step) return step;
  if (step.type === "Prepend") return null;
  if (step.type === "Metaspace" && step.prepend_scheme !== "never") return { ...step, prepend_scheme: "never" };
  if (step.type === "ByteLevel" && step.add_prefix_space) return { ...step, add_prefix_space: false };
  for (const list of ["normalizers", "pretokenizers"] as const) {
    const inner = step[list]?.map(stripped);
    if (inner?.some((each, i) => each !== step[list]![i]))
      return { ...step, [list]: inner.filter((each) => each !== null) };
  }
  return step;
}
