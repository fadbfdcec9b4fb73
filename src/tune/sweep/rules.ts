// What may stand in a sweep: the options of a Study under their own names, and what its trials are.
import { is, optionTable, type Check } from "../../core/options.ts";
import { one, oneOrList, type Parts } from "../../experiment/registry/component.ts";
import { planStudy } from "../study-options.ts";

const { signals: _signals, warn: _warn, ...study } = optionTable(planStudy).checks;

export const SWEEP_CHECKS: Readonly<Record<string, Check>> = {
  ...study,
  experiment: {
    expected: "the path of a config, or the config itself",
    schema: is.or(is.name, is.object).schema!,
    test: is.or(is.name, is.object).test,
  },
};

export const SWEEP_PARTS: Parts = {
  sampler: one("sampler"),
  scheduler: one("scheduler"),
  runner: one("runner"),
  hooks: oneOrList("hook"),
};
