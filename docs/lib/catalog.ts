// Every component that a config can name, with its options: what is checked, and what the sources say of it.
import type { Check, Kind } from "../../src/core/options.ts";
import { rulesOf } from "../../src/experiment/build/kinds.ts";
import { OWN_KINDS, SWEEP_KINDS as KINDS } from "../../src/tune/sweep/build-sweep.ts";
import { componentDocs } from "./doc-comments.ts";

export interface CatalogOption {
  readonly name: string;
  readonly check: Check;
  readonly required: boolean;
  readonly doc: string;
}

export interface CatalogEntry {
  readonly kind: Kind;
  readonly name: string;
  /** What it is for; of kinds where each has a file of its own. */
  readonly purpose: string;
  readonly summary: string;
  readonly options: readonly CatalogOption[];
}

export const kinds = Object.keys(KINDS) as Kind[];

/** Those of sweeps, which an experiment has no use for. */
export const sweepKinds = Object.keys(OWN_KINDS) as Kind[];

export async function catalog(): Promise<readonly CatalogEntry[]> {
  const byKind = await Promise.all(
    kinds.map(async (kind) =>
      Object.entries(await KINDS[kind].load()).map(([name, component]): CatalogEntry => {
        const { checks, required } = rulesOf(KINDS, component);
        const docs = componentDocs(kind, name);
        const options = Object.entries(checks).map(([option, check]) => ({
          name: option,
          check,
          required: required.includes(option),
          doc: docs.options[option] ?? "",
        }));
        const purpose = kind === "hook" ? docs.purpose : "";
        return { kind, name, purpose, summary: docs.summary, options };
      }),
    ),
  );
  return byKind.flat();
}
