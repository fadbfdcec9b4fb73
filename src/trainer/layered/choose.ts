// Whether the passes of a model run layer by layer, and why.
import { OptionError } from "../../core/errors.ts";
import type { LossModel, Model } from "../../core/model.ts";
import type { TrainerOptions } from "../options.ts";

export interface Layering {
  readonly isOn: boolean;
  /** For `explainPlan()`; undefined for a model that is no stack. */
  readonly because: string | undefined;
}

/** Chooses from the options alone, so that neither a hook nor the engine's memory changes the bits of a run. */
export function chooseLayering({ model, layered = "auto", devices, engine }: TrainerOptions): Layering {
  const layers = stackOf(model)?.layers.length;
  if (layers === undefined) {
    if (layered !== true) return { isOn: false, because: undefined };
    throw refused("needs a model that is a stack of layers, such as stack({ embed, block, count, head })");
  }
  if (layered === false) return { isOn: false, because: "one program for all layers, because `layered` is false" };
  if (layered === "auto" && (typeof engine === "object" ? engine.name : engine) === "xla") {
    return { isOn: false, because: "one program for all layers, which is faster on xla; `layered: true` saves memory" };
  }
  const obstacle = obstacleOf(model as Model<never>, devices ?? (typeof engine === "object" ? engine.devices : 1));
  if (obstacle === undefined)
    return { isOn: true, because: `layer by layer, because the model is a stack of ${layers} layers` };
  if (layered === true) throw refused(`is not possible: ${obstacle}`);
  return { isOn: false, because: `one program for all layers, because ${obstacle}` };
}

const stackOf = (model: Model<never> | LossModel) => (model as Partial<Model<never>>).stack;

function obstacleOf(model: Model<never>, devices = 1): string | undefined {
  if (model.initState) return "the model has buffers, as batchNorm() has";
  // Results of a program are whole on each device, so that each would compute all rows of every layer.
  return devices > 1 ? `${devices} devices divide the rows of a batch within one program` : undefined;
}

const refused = (why: string): OptionError =>
  new OptionError(`Trainer: \`layered: true\` ${why}.`, { option: "layered" });
