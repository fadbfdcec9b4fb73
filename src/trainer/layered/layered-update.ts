// The update of a stack's parameters, layer by layer: layers whose parameters are in the same groups share a program.
import type { StackLayer } from "../../core/model.ts";
import type { Buffer } from "../../engines/engine.ts";
import type { Buffers } from "../device-state.ts";
import { pick } from "../open-step.ts";
import { applyRules, paramOfSlot, type ProgramSpec, slotName, type UpdateRule } from "../programs/programs.ts";
import type { Compiled, ProgramCache } from "../programs/run.ts";
import { type LayerName, ownOf, partsOf } from "./divide.ts";

/** One program's part of the update. */
interface Part {
  readonly program: Compiled;
  readonly names: readonly LayerName[];
  readonly slots: readonly LayerName[];
}

type Updated = { readonly params: Buffers; readonly opt: Buffers };

/**
 * New parameters and optimizer state from gradients, as `updateParams` computes them. With `inPlace` what a layer had
 * before is gone when its update is done, so that only one layer's old and new tensors exist.
 */
export function layeredUpdate(
  programs: ProgramCache,
  layers: readonly StackLayer[],
  spec: ProgramSpec,
  rules: readonly UpdateRule[],
  {
    names,
    slots,
    inPlace,
  }: { readonly names: readonly string[]; readonly slots: readonly string[]; readonly inPlace: boolean },
): (params: Buffers, opt: Buffers, grads: Buffers, control: Buffer) => Promise<Updated> {
  const parts = programsOf(programs, layers, spec, rules, names, slots, inPlace);
  return async (params, opt, grads, control) => {
    const done = { params: {} as Record<string, Buffer>, opt: {} as Record<string, Buffer> };
    for (const part of parts) {
      const given = [ownOf(part.names, params), ownOf(part.slots, opt), ownOf(part.names, grads)];
      const out = (await part.program(...given, control)) as unknown as Updated;
      for (const { whole, own } of part.names) done.params[whole] = out.params[own]!;
      for (const { whole, own } of part.slots) done.opt[whole] = out.opt[own]!;
    }
    return { params: pick(done.params, names), opt: pick(done.opt, slots) };
  };
}

function programsOf(
  programs: ProgramCache,
  layers: readonly StackLayer[],
  spec: ProgramSpec,
  rules: readonly UpdateRule[],
  names: readonly string[],
  slots: readonly string[],
  inPlace: boolean,
): Part[] {
  return partsOf(layers, names).map((part): Part => {
    const ownName = new Map(part.map(({ whole, own }) => [whole, own]));
    const ownSlots = slots.flatMap((whole) => {
      const own = ownName.get(paramOfSlot(whole));
      return own === undefined ? [] : [{ whole, own: slotName(whole.slice(0, whole.indexOf("/")), own) }];
    });
    const ownRules = rules.map((rule) => ({ ...rule, groups: groupsOf(rule, ownName) }));
    // The same groups by the same names: the same program.
    const form = JSON.stringify(ownRules.map(({ prefix, groups }) => [prefix, groups]));
    const program = programs.of(
      spec,
      `update ${inPlace ? "in place " : ""}${form}`,
      () => (params: never, opt: never, grads: never, control: never) =>
        applyRules(spec, ownRules, params, grads, opt, control),
      inPlace ? { donate: [0, 1, 2] } : {},
    );
    return { program, names: part, slots: ownSlots };
  });
}

function groupsOf({ groups }: UpdateRule, ownName: ReadonlyMap<string, string>): UpdateRule["groups"] {
  return groups
    .map(({ prefix, params }) => ({ prefix, params: params.flatMap((name) => ownName.get(name) ?? []) }))
    .filter(({ params }) => params.length > 0);
}
