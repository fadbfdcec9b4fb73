// LoRA: beside a frozen matrix W trains a product of two small ones, W + (alpha ÷ rank) · B A. DoRA trains the lengths of that
// sum's rows too. Names and meaning are PEFT's.
import type { HostTensors, InitKey } from "../../core/model.ts";
import { OptionError } from "../../core/errors.ts";
import { didYouMean } from "../../core/names.ts";
import { checkOptions, is } from "../../core/options.ts";
import { fanInUniform, filled } from "../../nn/layer.ts";
import type { Architecture } from "../config/architecture.ts";
import { LORA_CHECKS, type LoraOptions } from "./lora-options.ts";
import { matricesOf, namingOf, parametersOf, type Matrix, type Naming } from "./parameters.ts";

/** A new adapter, which `loadModel` puts onto a model. */
export interface Lora {
  readonly options: LoraOptions;
}

/**
 * A new adapter of low rank: little is trained, and the model stays as it is.
 * @example const model = await loadModel("models/SmolLM2-135M", { adapter: lora({ rank: 16 }) });
 */
export function lora(options: LoraOptions = {}): Lora {
  checkOptions("lora", options, LORA_CHECKS);
  return { options };
}

export const isLora = (value: object | string): value is Lora =>
  typeof value === "object" && is.object.test((value as Partial<Lora>).options);

/** An adapter's settings, in the words of PEFT where they go into adapter_config.json. */
export interface LoraConfig {
  readonly rank: number;
  readonly alpha: number;
  readonly rslora: boolean;
  /** `use_dora`. */
  readonly dora: boolean;
  readonly dropout: number;
  /** `target_modules`: names, or a pattern that PEFT understands. */
  readonly targets: readonly string[] | string;
  /** `layers_to_transform`: the numbers of the adapted layers; undefined for all. */
  readonly layers: readonly number[] | undefined;
  /** `modules_to_save`. */
  readonly also: readonly string[];
}

/** An adapter on a model. */
export interface Adapter {
  readonly config: LoraConfig;
  /** The adapted matrices by their whole names in the model. */
  readonly matrices: ReadonlyMap<string, Matrix>;
  /** Parameters of the model that are trained whole. */
  readonly whole: readonly string[];
  /** Values of both, by names in the model, if the adapter was trained before. */
  readonly tensors?: HostTensors;
}

/** Lengths of rows, with DoRA. */
export const MAGNITUDE = "lora_magnitude_vector";

/** Shorter rows count as this long, as 0 ÷ 0 would make a row of zeros NaN. */
export const SHORTEST_ROW = 2 ** -60;

/** What an adapted matrix has, by its names behind the matrix's own, with its shape. */
export const adapterParts = (
  { rank, dora }: Pick<LoraConfig, "rank" | "dora">,
  { inputs, outputs }: Matrix,
): Readonly<Record<string, readonly number[]>> => ({
  "lora_A.weight": [rank, inputs],
  "lora_B.weight": [outputs, rank],
  ...(dora && { [MAGNITUDE]: [outputs] }),
});

/** The names of all that is trained. */
export const trainedNames = ({ config, matrices, whole }: Adapter): readonly string[] => [
  ...[...matrices].flatMap(([name, matrix]) =>
    Object.keys(adapterParts(config, matrix)).map((end) => `${name}.${end}`),
  ),
  ...whole,
];

/** The factor on B A. */
export const loraScale = ({ alpha, rank, rslora }: LoraConfig): number => alpha / (rslora ? Math.sqrt(rank) : rank);

const ATTENTION: Readonly<Record<Architecture["design"], readonly string[]>> = {
  gpt2: ["c_attn", "attn.c_proj"],
  llama: ["q_proj", "k_proj", "v_proj", "o_proj"],
};

/** A new adapter for this architecture. */
export function newAdapter({ options }: Lora, architecture: Architecture, naming: Naming): Adapter {
  const {
    rank = 16,
    alpha = 2 * rank,
    rslora = false,
    dora = false,
    dropout = 0,
    targets = "all",
    also = [],
  } = options;
  const count = architecture.layers.length;
  const last = options.layers ?? count;
  if (last > count)
    throw new OptionError(`lora: \`layers\` is ${last}, but the model has ${count}.`, { option: "layers" });
  const layers = last === count ? undefined : Array.from({ length: last }, (_, i) => count - last + i);
  const names = targetNames(architecture, targets);
  const config = { rank, alpha, rslora, dora, dropout, targets: names, layers, also };
  const matrices = allMatrices(architecture, naming, (layer, { name }) => {
    const isTarget = names.some((target) => name === target || name.endsWith(`.${target}`));
    return isTarget && (layers?.includes(layer) ?? true);
  });
  return { config, matrices, whole: wholeNames(architecture, naming, also, matrices) };
}

function targetNames(architecture: Architecture, targets: NonNullable<LoraOptions["targets"]>): readonly string[] {
  const own = matricesOf(architecture).map(({ name }) => name);
  if (targets === "attention") return ATTENTION[architecture.design];
  if (targets === "all") return [...new Set(own.map((name) => name.split(".").at(-1)!))];
  for (const target of targets) {
    if (own.some((name) => name === target || name.endsWith(`.${target}`))) continue;
    throw new OptionError(
      `lora: no matrix of a layer is named \`${target}\`.${didYouMean(
        target,
        own.map((name) => name.split(".").at(-1)!),
      )} There are ${own.join(", ")}; what is no such matrix can be trained whole, with \`also\`.`,
      { option: "targets" },
    );
  }
  return targets;
}

/** The matrices that are wanted, by their names in the model. */
export function allMatrices(
  architecture: Architecture,
  naming: Naming,
  isWanted: (layer: number, matrix: Matrix) => boolean,
): ReadonlyMap<string, Matrix> {
  const found = new Map<string, Matrix>();
  for (const layer of architecture.layers.keys())
    for (const matrix of matricesOf(architecture))
      if (isWanted(layer, matrix)) found.set(naming.layer(layer) + matrix.name, matrix);
  return found;
}

/** Parameters whose modules' names end so, as PEFT chooses them. */
export function wholeNames(
  architecture: Architecture,
  naming: Naming,
  also: readonly string[],
  matrices: ReadonlyMap<string, Matrix>,
): readonly string[] {
  const modules = [...parametersOf(architecture, naming).keys()].map((name) => name.replace(/\.(?:weight|bias)$/, ""));
  for (const end of also) {
    const found = modules.filter((module) => module.endsWith(end));
    if (found.length === 0)
      throw new OptionError(
        `lora: the model has no module named \`${end}\`.${architecture.tied && end === "lm_head" ? " Its head is its embedding." : didYouMean(end, modules)}`,
        { option: "also" },
      );
    const adapted = found.find((module) => matrices.has(module));
    if (adapted !== undefined)
      throw new OptionError(`lora: \`${adapted}\` cannot be both adapted and trained whole (\`also\`).`, {
        option: "also",
      });
  }
  const { embedding, head } = namingOf(architecture, naming.root);
  const names = [...parametersOf(architecture, naming).keys()].filter((name) =>
    also.some((end) => name.replace(/\.(?:weight|bias)$/, "").endsWith(end)),
  );
  if (architecture.tied && names.includes(embedding) && head === embedding)
    throw new OptionError(
      "lora: the embedding of this model is its head too, and PEFT would save them apart. Leave it out of `also`.",
      { option: "also" },
    );
  return names;
}

/**
 * Initial values: A as a linear layer's weight, and B zero, so that nothing changes at first. `lengths` are those of the
 * matrices' rows, for DoRA.
 */
export function initialAdapter(
  { matrices, config: { rank }, tensors }: Adapter,
  key: InitKey,
  lengths: HostTensors,
): HostTensors {
  const values: HostTensors = {};
  for (const [name, { inputs, outputs }] of matrices) {
    const [a, b] = [`${name}.lora_A.weight`, `${name}.lora_B.weight`];
    values[a] = tensors?.[a] ?? fanInUniform(key.fold(a), [rank, inputs], inputs);
    values[b] = tensors?.[b] ?? filled([outputs, rank], 0);
    const magnitude = `${name}.${MAGNITUDE}`;
    const length = tensors?.[magnitude] ?? lengths[magnitude];
    if (length) values[magnitude] = length;
  }
  return values;
}
