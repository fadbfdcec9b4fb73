// An adapter as PEFT saves it.
import { safetensorsParts } from "../../checkpoint/formats/safetensors.ts";
import { castTensors, type FloatType, fromHostArrays } from "../../checkpoint/formats/tensor-values.ts";
import { badFile } from "../../checkpoint/formats/tensor.ts";
import type { HostTensors } from "../../core/model.ts";
import type { Architecture } from "../config/architecture.ts";
import { ADAPTER_CONFIG, ADAPTER_TENSORS, namesByPeft } from "../load/read-adapter.ts";
import type { Adapter } from "../model/lora.ts";
import type { Naming } from "../model/parameters.ts";
import type { NewFolder } from "./write-folder.ts";

export async function writeAdapter(
  folder: NewFolder,
  { architecture, naming, adapter }: { architecture: Architecture; naming: Naming; adapter: Adapter },
  trained: HostTensors,
  { dtype, baseModel }: { dtype: FloatType; baseModel: string | undefined },
): Promise<void> {
  const names = [...namesByPeft(architecture, naming)].filter(([, own]) => Object.hasOwn(trained, own));
  const renamed = Object.fromEntries(names.map(([peft, own]) => [peft, trained[own]!]));
  const tensors = castTensors(fromHostArrays(renamed), dtype, badFile(ADAPTER_TENSORS));
  await folder.write(ADAPTER_TENSORS, safetensorsParts(tensors, { format: "pt" }));
  const { rank, alpha, rslora, dora, dropout, targets, layers, also } = adapter.config;
  const config = {
    base_model_name_or_path: baseModel ?? null,
    bias: "none",
    fan_in_fan_out: architecture.design === "gpt2",
    inference_mode: true,
    init_lora_weights: true,
    layers_to_transform: layers ?? null,
    lora_alpha: alpha,
    lora_dropout: dropout,
    modules_to_save: also.length > 0 ? also : null,
    peft_type: "LORA",
    r: rank,
    target_modules: targets,
    task_type: "CAUSAL_LM",
    use_dora: dora,
    use_rslora: rslora,
  };
  await folder.write(ADAPTER_CONFIG, `${JSON.stringify(config, undefined, 2)}\n`);
}
