// An adapter's folder as PEFT saves it: adapter_config.json and adapter_model.safetensors.
import { toHostArrays } from "../../checkpoint/formats/tensor-values.ts";
import { CheckpointError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import { didYouMean } from "../../core/names.ts";
import { is } from "../../core/options.ts";
import type { Architecture } from "../config/architecture.ts";
import { ConfigFields } from "../config/config-fields.ts";
import { type Adapter, adapterParts, allMatrices, type LoraConfig, MAGNITUDE, wholeNames } from "../model/lora.ts";
import { type Naming, namingOf, parametersOf } from "../model/parameters.ts";
import { openTensors } from "./folder-tensors.ts";
import { type ModelFiles, readJsonFile } from "./model-files.ts";

export const ADAPTER_CONFIG = "adapter_config.json";
export const ADAPTER_TENSORS = "adapter_model.safetensors";
/** PEFT wraps a model twice, and the names of its tensors say so. */
const PEFT_PREFIX = "base_model.model.";

/** Fields that do not change what a saved adapter computes, in any of its versions. */
const HARMLESS: ReadonlySet<string> = new Set([
  "auto_mapping",
  "base_model_name_or_path",
  "exclude_modules",
  "fan_in_fan_out",
  "inference_mode",
  "layers_pattern",
  "megatron_core",
  "peft_version",
  "qalora_group_size",
  "revision",
  "task_type",
]);

/** Ways to begin that leave the base as it is. */
const PLAIN_STARTS: readonly unknown[] = [undefined, null, true, false, "gaussian", "eva", "orthogonal"];

const OTHER_BASE = "The adapter is of another base, or of a part of a model that hookline/lm does not adapt.";

/** Reads an adapter for this architecture, whose parameters have these names. */
export async function readAdapter(files: ModelFiles, architecture: Architecture, naming: Naming): Promise<Adapter> {
  if (!(await files.has(ADAPTER_CONFIG)))
    throw new CheckpointError(
      files.path,
      `it has no ${ADAPTER_CONFIG}`,
      "Give the folder of an adapter as PEFT saves it.",
    );
  const config = readLoraConfig(await readJsonFile(files, ADAPTER_CONFIG), `${files.path}/${ADAPTER_CONFIG}`);
  if (!(await files.has(ADAPTER_TENSORS)))
    throw new CheckpointError(
      files.path,
      `it has no ${ADAPTER_TENSORS}`,
      "Save the adapter again with PEFT, model.save_pretrained(folder).",
    );
  const path = `${files.path}/${ADAPTER_TENSORS}`;
  const found = await openTensors(files, ADAPTER_TENSORS);
  const names = namesByPeft(architecture, naming);
  const tensors: HostTensors = {};
  for (const [peftName, entry] of found) {
    const own = names.get(peftName);
    if (own === undefined)
      throw new CheckpointError(
        path,
        `tensor \`${peftName}\` belongs to nothing in the model`,
        OTHER_BASE + didYouMean(peftName, names.keys()),
      );
    Object.assign(tensors, toHostArrays({ [own]: await entry.read() }, path));
  }
  const matrices = allMatrices(architecture, naming, (layer, { name }) =>
    Object.hasOwn(tensors, `${naming.layer(layer)}${name}.lora_A.weight`),
  );
  const whole = wholeNames(architecture, naming, config.also, matrices);
  const adapter: Adapter = { config, matrices, whole, tensors };
  checkShapes(adapter, parametersOf(architecture, naming), path);
  return adapter;
}

function readLoraConfig(json: Readonly<Record<string, unknown>>, file: string): LoraConfig {
  const fields = new ConfigFields(json, file, { harmless: HARMLESS });
  const refuse = (name: string, does: string): CheckpointError =>
    fields.wrong(name, does, "hookline/lm reads LoRA adapters as PEFT saves them by default, rslora and DoRA.");
  if (fields.text("peft_type") !== "LORA") throw refuse("peft_type", "is not LORA");
  if (fields.text("bias", "none") !== "none") throw refuse("bias", "trains biases of the base");
  fields.ignore("init_lora_weights");
  if (!PLAIN_STARTS.includes(json.init_lora_weights))
    throw refuse("init_lora_weights", "changes the weights of the base");
  const targets = json.target_modules;
  fields.ignore("target_modules", "layers_to_transform");
  const layers = typeof json.layers_to_transform === "number" ? [json.layers_to_transform] : undefined;
  const config: LoraConfig = {
    rank: fields.whole("r"),
    alpha: fields.positive("lora_alpha"),
    rslora: fields.flag("use_rslora", false),
    dora: fields.flag("use_dora", false),
    dropout: json.lora_dropout === 0 ? 0 : fields.positive("lora_dropout", 0),
    targets: typeof targets === "string" ? targets : ((fields.list("target_modules", is.name) ?? []) as string[]),
    layers: layers ?? (fields.list("layers_to_transform", is.wholeFrom(0)) as number[] | undefined),
    also: (fields.list("modules_to_save", is.name) ?? []) as string[],
  };
  fields.ignore("lora_dropout");
  fields.finish();
  return config;
}

/** The names in PEFT's files of everything that an adapter may have, and those in the model. */
export function namesByPeft(architecture: Architecture, naming: Naming): ReadonlyMap<string, string> {
  const usual = namingOf(architecture);
  const names = new Map<string, string>();
  const matrices = (of: Naming): string[] => [...allMatrices(architecture, of, () => true).keys()];
  const own = matrices(naming);
  for (const [i, name] of matrices(usual).entries())
    for (const part of ["lora_A.weight", "lora_B.weight", MAGNITUDE])
      names.set(`${PEFT_PREFIX}${name}.${part}`, `${own[i]}.${part}`);
  const parameters = [...parametersOf(architecture, naming).keys()];
  for (const [i, name] of [...parametersOf(architecture, usual).keys()].entries())
    names.set(PEFT_PREFIX + name, parameters[i]!);
  return names;
}

function checkShapes(
  { config, matrices, whole, tensors = {} }: Adapter,
  parameters: ReturnType<typeof parametersOf>,
  path: string,
): void {
  const expected = new Map<string, readonly number[]>();
  for (const [name, matrix] of matrices)
    for (const [end, shape] of Object.entries(adapterParts(config, matrix))) expected.set(`${name}.${end}`, shape);
  for (const name of whole) expected.set(name, parameters.get(name)!.shape);
  for (const [name, shape] of expected) {
    const found = tensors[name]?.shape;
    if (found?.join() === shape.join()) continue;
    const is = found ? `is [${found.join(", ")}]` : "is missing";
    throw new CheckpointError(path, `tensor \`${name}\` ${is}, and must be [${shape.join(", ")}]`, OTHER_BASE);
  }
  const extra = Object.keys(tensors).find((name) => !expected.has(name));
  if (extra !== undefined)
    throw new CheckpointError(path, `it has tensor \`${extra}\`, of which ${ADAPTER_CONFIG} says nothing`, OTHER_BASE);
}
