// What a Preprocessor learns from the training data: a fitted chain for each column, and one for the target.
import { DataError, OptionError } from "../../core/errors.ts";
import type { Table } from "../table/table.ts";
import { Chain } from "./chain.ts";
import { OTHERS, type ResolvedOptions } from "./options.ts";
import { Target, checkTarget, chooseForTarget } from "./target.ts";
import type { Choice, Transform } from "./transform.ts";

export interface FittedParts {
  readonly chains: readonly Chain[];
  readonly target: Target | undefined;
  readonly weights: string | undefined;
  /** What `auto` chose, and why. */
  readonly choices: readonly string[];
}

export function fitParts({ columns, target, weights }: ResolvedOptions, train: Table): FittedParts {
  if (train.rowCount === 0) throw new DataError(`Preprocessor: ${train.source} has no rows to learn from.`);
  const choices: string[] = [];
  const fit = (name: string, transforms: readonly Transform[], choose?: (name: string) => Choice): Chain => {
    const choice = transforms[0]!.choose ? (choose?.(name) ?? transforms[0]!.choose(train.column(name))) : undefined;
    const chosen = choice?.transforms ?? transforms;
    if (choice) choices.push(`${name}: ${chosen.map(describe).join(", ")} (${choice.why})`);
    return Chain.fit(name, train, chosen);
  };
  const named = new Set([...columns.map(([name]) => name), target?.column, weights]);
  const others = Object.keys(train.columns).filter((name) => !named.has(name));
  const chains = columns
    .flatMap(([name, transforms]) => (name === OTHERS ? others : [name]).map((each) => fit(each, transforms)))
    .filter((chain) => !chain.isEmpty);
  if (chains.length === 0)
    throw new DataError(
      `Preprocessor: no column of ${train.source} is left to predict from.${choices.length > 0 ? ` ${choices.join("; ")}.` : ""}`,
    );
  checkFields(chains);
  if (weights !== undefined) train.column(weights);
  if (target) checkTarget(train, target.column);
  const aim =
    target && new Target(fit(target.column, target.transforms, (name) => chooseForTarget(train.column(name))));
  return { chains, target: aim, weights, choices };
}

/** Two columns with tokens need two fields. */
export function checkFields(chains: readonly Chain[]): void {
  const fields = chains.flatMap((chain) => chain.fields.map(({ name }) => name));
  const twice = fields.find((name, i) => fields.indexOf(name) !== i);
  if (twice === undefined) return;
  throw new OptionError(
    `Preprocessor: two columns write the field \`${twice}\`. Give them names: vocabulary({ field: "title" }).`,
  );
}

/** As one would write it: `oneHot({ maxCategories: 100 })`. */
function describe({ use, options }: Transform): string {
  const given = Object.entries(options).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return given.length === 0 ? use : `${use}({ ${given.join(", ")} })`;
}
