// Names and shapes of a language model's parameters, as its files have them, and their random initial values.
import { sizeOf, type HostArray } from "../../core/arrays.ts";
import type { InitKey } from "../../core/model.ts";
import type { Architecture } from "../config/architecture.ts";

/** Where things are in the files of a design. */
interface Places {
  /** Before all names but the head's. Some files leave it out. */
  readonly root: string;
  readonly embedding: string;
  readonly positions?: string;
  /** Before the number of a layer. */
  readonly layers: string;
  readonly norm: string;
}

const PLACES: Readonly<Record<Architecture["design"], Places>> = {
  gpt2: { root: "transformer.", embedding: "wte.weight", positions: "wpe.weight", layers: "h.", norm: "ln_f" },
  llama: { root: "model.", embedding: "embed_tokens.weight", layers: "layers.", norm: "norm" },
};

/** The names of the parts of one model. */
export interface Naming {
  readonly root: string;
  readonly embedding: string;
  readonly positions: string | undefined;
  readonly norm: string;
  readonly head: string;
  /** `model.layers.3.` */
  layer(index: number): string;
}

/** The names in a model's files; `root` is what they have before names, by default what transformers writes. */
export function namingOf({ design, tied }: Architecture, root: string = PLACES[design].root): Naming {
  const { embedding, positions, layers, norm } = PLACES[design];
  return {
    root,
    embedding: root + embedding,
    positions: positions && root + positions,
    norm: root + norm,
    head: tied ? root + embedding : "lm_head.weight",
    layer: (index) => `${root}${layers}${index}.`,
  };
}

/** A matrix that multiplies: `weight` of this shape, perhaps with `bias`. Inputs come last; in GPT-2 first. */
export interface Matrix {
  readonly name: string;
  readonly inputs: number;
  readonly outputs: number;
  readonly bias: boolean;
  /** It writes into the stream between the layers. */
  readonly last?: true;
}

/** How far apart in a file two outputs of a matrix are, and two inputs. */
export const strides = ({ design }: Architecture, { inputs, outputs }: Matrix): readonly [number, number] =>
  design === "gpt2" ? [1, outputs] : [inputs, 1];

/** The matrices of a layer. */
export function matricesOf(architecture: Architecture): readonly Matrix[] {
  const { design, width: d, innerWidth: inner, heads, keyValueHeads, headDim, biases } = architecture;
  const matrix = (name: string, inputs: number, outputs: number, bias: boolean): Matrix => ({
    name,
    inputs,
    outputs,
    bias,
  });
  if (design === "gpt2")
    return [
      matrix("attn.c_attn", d, 3 * d, true),
      { ...matrix("attn.c_proj", d, d, true), last: true },
      matrix("mlp.c_fc", d, inner, true),
      { ...matrix("mlp.c_proj", inner, d, true), last: true },
    ];
  const [all, kv] = [heads * headDim, keyValueHeads * headDim];
  return [
    matrix("self_attn.q_proj", d, all, biases.queryKeyValue),
    matrix("self_attn.k_proj", d, kv, biases.queryKeyValue),
    matrix("self_attn.v_proj", d, kv, biases.queryKeyValue),
    matrix("self_attn.o_proj", all, d, biases.output),
    matrix("mlp.gate_proj", d, inner, biases.feedForward),
    matrix("mlp.up_proj", d, inner, biases.feedForward),
    matrix("mlp.down_proj", inner, d, biases.feedForward),
  ];
}

function normsOf({ design, width, headDim, branchNorms, queryKeyNorm }: Architecture): [name: string, size: number][] {
  if (design === "gpt2") return ["ln_1", "ln_2"].map((name) => [name, width]);
  const names = ["input_layernorm", "post_attention_layernorm"];
  if (branchNorms) names.push("pre_feedforward_layernorm", "post_feedforward_layernorm");
  const heads = queryKeyNorm ? ["self_attn.q_norm", "self_attn.k_norm"] : [];
  return [
    ...names.map((name): [string, number] => [name, width]),
    ...heads.map((name): [string, number] => [name, headDim]),
  ];
}

/** A parameter of the model, and where its random values begin. */
export interface Parameter {
  readonly shape: readonly number[];
  readonly starts: { readonly std: number } | { readonly value: number };
}

/** All parameters by name, in the order of the forward pass. */
export function parametersOf(architecture: Architecture, naming: Naming): ReadonlyMap<string, Parameter> {
  const { design, vocabularySize, contextLength, width, initialStd: std, tied, layers } = architecture;
  const found = new Map<string, Parameter>();
  const add = (name: string, shape: readonly number[], starts: Parameter["starts"]): void => {
    found.set(name, { shape, starts });
  };
  const addNorm = (name: string, size: number): void => {
    add(`${name}.weight`, [size], { value: architecture.onePlusNorms ? 0 : 1 });
    if (design === "gpt2") add(`${name}.bias`, [size], { value: 0 });
  };
  add(naming.embedding, [vocabularySize, width], { std });
  if (naming.positions) add(naming.positions, [contextLength, width], { std });
  for (const index of layers.keys()) {
    const at = naming.layer(index);
    for (const { name, inputs, outputs, bias, last } of matricesOf(architecture)) {
      // GPT-2's way: what adds to the stream begins smaller the more layers there are.
      const scale = design === "gpt2" && last ? 1 / Math.sqrt(2 * layers.length) : 1;
      const shape = design === "gpt2" ? [inputs, outputs] : [outputs, inputs];
      add(`${at}${name}.weight`, shape, { std: std * scale });
      if (bias) add(`${at}${name}.bias`, [outputs], { value: 0 });
    }
    for (const [name, size] of normsOf(architecture)) addNorm(at + name, size);
  }
  addNorm(naming.norm, width);
  if (!tied) add(naming.head, [vocabularySize, width], { std });
  return found;
}

/** A parameter's random initial values. */
export function initialValues(name: string, { shape, starts }: Parameter, key: InitKey): HostArray {
  if ("std" in starts) return key.fold(name).normal(shape, 0, starts.std);
  return { data: new Float32Array(sizeOf(shape)).fill(starts.value), shape };
}
