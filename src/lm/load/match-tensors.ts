// Which of a folder's tensors are the parameters of its architecture: names in the wild differ in their beginnings, and some
// files have buffers of older versions beside the parameters.
import { CheckpointError } from "../../core/errors.ts";
import { didYouMean } from "../../core/names.ts";
import type { Architecture } from "../config/architecture.ts";
import { namingOf, type Naming, parametersOf } from "../model/parameters.ts";
import type { TensorEntry } from "./folder-tensors.ts";

/** Buffers that older versions saved: masks, and frequencies that come from the config. */
const BUFFERS = /(?:^|\.)(?:attn\.(?:bias|masked_bias)|self_attn\.rotary_emb\.inv_freq)$/;

const READABLE: readonly string[] = ["F32", "F16", "BF16"];

export interface MatchedTensors {
  readonly naming: Naming;
  /** In the order of the forward pass. */
  readonly tensors: ReadonlyMap<string, TensorEntry>;
}

/** Throws if a tensor is missing, is of another shape or type, or is not the architecture's. `path` is the folder's. */
export async function matchTensors(
  architecture: Architecture,
  found: ReadonlyMap<string, TensorEntry>,
  path: string,
): Promise<MatchedTensors> {
  const usual = namingOf(architecture);
  // A base model is saved without the name under which a causal model has it.
  const bare = namingOf(architecture, "");
  const naming = !found.has(usual.embedding) && found.has(bare.embedding) ? bare : usual;
  const expected = parametersOf(architecture, naming);
  const tensors = new Map<string, TensorEntry>();
  for (const [name, { shape }] of expected) {
    const entry = found.get(name);
    if (!entry) throw missing(name, expected, found, path);
    if (entry.shape.join() !== shape.join())
      throw new CheckpointError(
        entry.file,
        `tensor \`${name}\` is [${entry.shape.join(", ")}], but config.json makes it [${shape.join(", ")}]`,
        "The weights and config.json are of different models.",
      );
    if (!READABLE.includes(entry.dtype))
      throw new CheckpointError(
        entry.file,
        `tensor \`${name}\` is of type ${entry.dtype}; models are read from ${READABLE.join(", ")}`,
        "Use the folder of the original weights.",
      );
    tensors.set(name, entry);
  }
  for (const [name, entry] of found) {
    if (expected.has(name) || BUFFERS.test(name)) continue;
    if (name === "lm_head.weight" && architecture.tied) {
      await checkTied(entry, found.get(naming.embedding)!);
      continue;
    }
    throw new CheckpointError(
      entry.file,
      `it has tensor \`${name}\`, which the model of config.json does not have`,
      `The weights and config.json are of different models.${didYouMean(name, expected.keys())}`,
    );
  }
  return { naming, tensors };
}

function missing(
  name: string,
  expected: ReadonlyMap<string, unknown>,
  found: ReadonlyMap<string, unknown>,
  path: string,
): CheckpointError {
  const absent = [...expected.keys()].filter((each) => !found.has(each));
  const more = absent.length > 1 ? ` (and ${absent.length - 1} more of ${expected.size})` : "";
  const adapter = [...found.keys()].some((each) => each.includes("lora_A"));
  const fix = adapter
    ? "The folder holds an adapter: load its base, with { adapter: folder }."
    : `The weights and config.json are of different models, or a file is missing.${didYouMean(name, found.keys())}`;
  return new CheckpointError(path, `it has no tensor \`${name}\`${more}`, fix);
}

/** A tied head may be saved as well, if it is the same. */
async function checkTied(head: TensorEntry, embedding: TensorEntry): Promise<void> {
  const [a, b] = [(await head.read()).bytes, (await embedding.read()).bytes];
  if (head.dtype === embedding.dtype && a.length === b.length && a.every((byte, i) => byte === b[i])) return;
  throw new CheckpointError(
    head.file,
    "`lm_head.weight` is not the embedding, but config.json ties them",
    'Say "tie_word_embeddings": false in config.json.',
  );
}
