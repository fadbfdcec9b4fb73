// What hooks change for the steps to come: each verb reaches the part that keeps what it sets.
import type { Settings } from "../core/work.ts";
import type { DeviceState } from "./device-state.ts";
import type { FunctionWatch } from "./programs/compiled.ts";
import type { OptimizerSet } from "./optimizers.ts";
import type { Specs } from "./specs.ts";

export const stepSettings = (
  specs: Specs,
  optimizers: OptimizerSet,
  state: DeviceState,
  functions: FunctionWatch,
): Settings => ({
  setLoss(loss) {
    functions.note("setLoss", loss);
    specs.setLoss(loss);
  },
  setUpdate(update) {
    if (update) functions.note("setUpdate", update);
    if (update?.slots) {
      optimizers.addOwnSlots(update.slots);
      state.addSlots(optimizers.slotNames);
    }
    specs.setUpdate(update);
  },
  frozenBy: (filter) => specs.frozenBy(filter),
  freeze: (names) => specs.freeze(names),
  ratesFor: (lr) => optimizers.ratesFor(lr),
  setRates: (rates) => optimizers.setRates(rates),
  assign: (optimizer, group, values) => optimizers.assign(optimizer, group, values),
  setParams: (params) => state.setParams(params),
});
