// How datasets become batches: for training as each model needs them, for validation and test the same for all.
import { DataLoader } from "hookline/data";
import type { Datasets } from "hookline";
import type { Loaders, Setup } from "hookline/experiment";
import { inBatch, withNegatives } from "./batches.ts";
import { InteractionLoader } from "./interaction-loader.ts";
import { catalogueOf, type Interactions } from "./interactions.ts";
import { rankingData } from "./ranking-data.ts";

export interface BprLoaderOptions {
  readonly batchSize: number;
  /** Unseen items drawn for each interaction, again in every epoch. */
  readonly negatives: number;
}

export function bprLoaders(options: BprLoaderOptions, { datasets }: Setup<Interactions>): Loaders {
  const { train } = datasets;
  const make = withNegatives(train, catalogueOf(datasets), options.negatives);
  return { train: new InteractionLoader(train.user.length, options.batchSize, make), ...rankingLoaders(datasets) };
}

export function twoTowerLoaders(options: { readonly batchSize: number }, { datasets }: Setup<Interactions>): Loaders {
  const { train } = datasets;
  const make = inBatch(train, catalogueOf(datasets));
  return { train: new InteractionLoader(train.user.length, options.batchSize, make), ...rankingLoaders(datasets) };
}

/** Every user's ranking of the whole catalogue; what was seen by then is left out. */
export function rankingLoaders(datasets: Datasets<Interactions>): { eval: DataLoader; test: DataLoader } {
  const { train, val, test } = datasets;
  if (!val || !test) throw new Error("A recommender needs data to validate and to test on: `split: leaveOneOut`.");
  const all = catalogueOf(datasets);
  return {
    eval: new DataLoader(rankingData(val, [train], all), { batchSize: 1024 }),
    test: new DataLoader(rankingData(test, [train, val], all), { batchSize: 1024 }),
  };
}
