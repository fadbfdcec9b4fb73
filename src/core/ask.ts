// What hooks ask of the run, as plain data: one process does it at once, several do it together once they have agreed.
import type { Intervention } from "./audit.ts";
import type { Actions } from "./run-view.ts";
import type { SaveRequest } from "./saving.ts";
import type { SkipScope } from "./verbs.ts";

export type Ask =
  | { readonly verb: "stop"; readonly reason: string }
  | { readonly verb: "skip"; readonly scope: SkipScope }
  /** One rate for each group of each optimizer. */
  | { readonly verb: "setLr"; readonly rates: readonly number[] }
  | { readonly verb: "setTrainable"; readonly frozen: readonly string[] }
  | { readonly verb: "setAccumulate"; readonly n: number }
  | { readonly verb: "assign"; readonly optimizer: number; readonly group: number; readonly values: GroupAssignment }
  | { readonly verb: "requestEval" }
  | { readonly verb: "requestSave"; readonly request: SaveRequest; readonly at: "boundary" | "end" }
  | { readonly verb: "rollback"; readonly to: string | undefined; readonly reason: string | undefined };

/** What a hook assigned to a group of an optimizer. */
export interface GroupAssignment {
  readonly lr?: number;
  readonly weightDecay?: number;
  readonly momentum?: number;
}

/** A request with the entry that the audit will have of it. */
export interface Asked {
  readonly ask: Ask;
  readonly entry: Intervention;
}

/** Does what was asked; `entry` is its record, which may still be refused. */
export function carryOut(actions: Actions, { ask, entry }: Asked): void {
  switch (ask.verb) {
    case "stop":
      return actions.stop(ask.reason, entry.who, entry);
    case "skip":
      return actions.skip(ask.scope);
    case "setLr":
      return actions.setRates(ask.rates);
    case "setTrainable":
      return actions.freeze(ask.frozen);
    case "setAccumulate":
      return actions.setAccumulate(ask.n);
    case "assign":
      return actions.assign(ask.optimizer, ask.group, ask.values);
    case "requestEval":
      return actions.requestEval();
    case "requestSave":
      return actions.requestSave(ask.request, ask.at);
    case "rollback":
      return actions.rollback(ask.to, entry.who, ask.reason);
  }
}
