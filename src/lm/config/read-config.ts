// config.json → Architecture. A model_type or a field that is not understood is an error that names it.
import { CheckpointError } from "../../core/errors.ts";
import { didYouMean } from "../../core/names.ts";
import type { Json } from "../../core/options.ts";
import type { Architecture } from "./architecture.ts";
import { ConfigFields, HARMLESS } from "./config-fields.ts";
import { familyNames, familyOf } from "./families.ts";

/**
 * The architecture that the fields of a config.json describe, for a model of your own: the names are those of
 * transformers, and what is left out has its default.
 * @example architectureOf({ model_type: "llama", vocab_size: 512, hidden_size: 64, intermediate_size: 172, num_hidden_layers: 4, num_attention_heads: 8 })
 */
export const architectureOf = (config: Readonly<Record<string, Json>>): Architecture =>
  readConfig(config, "the config");

/** `file` names the config in errors. */
export function readConfig(config: Readonly<Record<string, Json>>, file: string): Architecture {
  const fields = new ConfigFields(config, file, { harmless: HARMLESS });
  const family = fields.text("model_type", "");
  const read = familyOf(family);
  if (!read) throw unknownFamily(config, family, file);
  if (fields.has("quantization_config"))
    throw fields.wrong(
      "quantization_config",
      "says that the weights are quantized",
      "Use the folder of the original weights; the option `base` keeps them in fewer bits.",
    );
  const architecture = { family, ...read(fields), config };
  fields.finish();
  return architecture;
}

function unknownFamily(config: Readonly<Record<string, Json>>, family: string, file: string): CheckpointError {
  const known = `Known are ${familyNames.join(", ")}.`;
  if (family === "")
    return new CheckpointError(file, "it has no `model_type`", `It is no model's config of transformers. ${known}`);
  const hint = Object.hasOwn(config, "text_config")
    ? " The model reads more than text: save its language model alone."
    : didYouMean(family, familyNames);
  return new CheckpointError(file, `\`model_type\` is ${JSON.stringify(family)}, which is not known`, known + hint);
}
