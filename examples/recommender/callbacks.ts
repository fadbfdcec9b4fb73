// Something of one's own at each of the four points of the pipeline: data read, datasets created, model trained, model
// evaluated. A config names the class and gives it its options.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Datasets, type Hook, type HostArray, type PipelineContexts, sharedKey } from "hookline";
import { DataLoader } from "hookline/data";
import { evaluateScores, itemKnn, type ItemKnnOptions, popularity } from "./baselines.ts";
import { catalogueOf, type Interactions, kCore } from "./interactions.ts";
import { rankingLoaders } from "./loaders.ts";
import { rankingData } from "./ranking-data.ts";
import { hitRate, mrr, ndcg, recall } from "./ranking-metrics.ts";
import { topItems } from "./recommend.ts";
import { titles } from "./titles.ts";

export interface RecommenderCallbacksOptions {
  /** Users and items with fewer interactions are left out. */
  readonly kCore: number;
  readonly itemKnn: ItemKnnOptions;
  /** For whom to write down recommendations: ids of the data set. */
  readonly recommendTo: readonly number[];
  /** A `movies.csv` of MovieLens. Without one, films are shown by their address. */
  readonly titles?: string;
}

/** Results by metric, of each baseline and of each model so far. */
type Table = Record<string, Record<string, number>>;
export const results = sharedKey<Table>("recommender results");
const METRICS = { "ndcg@10": ndcg({ k: 10 }), "hr@10": hitRate({ k: 10 }), "recall@10": recall({ k: 10 }), mrr: mrr() };

export class RecommenderCallbacks implements Hook {
  readonly name = "recommender";
  readonly #options: RecommenderCallbacksOptions;
  #datasets: Datasets<Interactions> | undefined;

  constructor(options: RecommenderCallbacksOptions) {
    this.#options = options;
  }

  /** A rating, whatever it says, is an interaction; what there is too little to know of is left out. */
  onDataRead({ data }: PipelineContexts["dataRead"]): Interactions {
    const all = data as Interactions;
    const kept = kCore(all, this.#options.kCore);
    console.log(`data: ${describe(all)}\n${this.#options.kCore}-core: ${describe(kept)}`);
    return kept;
  }

  /** Baselines can be judged before there is any model. Having nothing to validate, they may learn from that part too. */
  async onDatasetCreated({ datasets, shared }: PipelineContexts["datasetCreated"]): Promise<void> {
    this.#datasets = datasets as Datasets<Interactions>;
    const { train, val, test } = this.#datasets;
    const rows = (part: Interactions | undefined): number => part?.user.length ?? 0;
    console.log(`train ${rows(train)}, validation ${rows(val)}, test ${rows(test)} interactions`);
    const catalogue = catalogueOf(this.#datasets);
    const { test: loader } = rankingLoaders(this.#datasets);
    const known = [train, val!];
    shared.set(results, {
      popularity: await evaluateScores(popularity(known, catalogue), METRICS, loader),
      "item-kNN": await evaluateScores(itemKnn(known, catalogue, this.#options.itemKnn), METRICS, loader),
    });
  }

  /** What would it recommend? */
  async onTrainingComplete({ model, trained, runDir }: PipelineContexts["trainingComplete"]): Promise<void> {
    const { train, val, test } = this.#datasets!;
    const arrays = rankingData(test!, [train, val!], catalogueOf(this.#datasets!));
    const scores = (await trained.predict(new DataLoader(arrays, { batchSize: 1024 }))) as HostArray;
    const nameOf = titles(this.#options.titles);
    const parts = [train, val!, test!];
    const idOf = new Map(
      parts.flatMap(({ item, itemId }) => Array.from(item, (id, row) => [id, itemId[row]!] as const)),
    );
    const lists = this.#options.recommendTo.map((userId) => {
      const user = train.user[train.userId.indexOf(userId)]!;
      const row = (arrays.user as Int32Array).indexOf(user);
      if (row < 0) return `user ${userId} is not among those who are left`;
      const best = topItems(scores, arrays.seen as HostArray, row, 10);
      const lines = best.map((item, i) => `${String(i + 1).padStart(4)}. ${nameOf(idOf.get(item)!)}`);
      return [`user ${userId}`, ...lines].join("\n");
    });
    console.log(`${model} recommends to ${lists[0]}`);
    if (runDir === undefined) return;
    await mkdir(runDir, { recursive: true });
    await writeFile(join(runDir, "recommendations.txt"), `${lists.join("\n\n")}\n`);
  }

  /** Is it better than no training at all? */
  onEvaluationComplete({ model, results: own, shared }: PipelineContexts["evaluationComplete"]): void {
    const table = shared.need(results);
    for (const baseline of ["popularity", "item-kNN"]) own[`${baseline}/ndcg@10`] = table[baseline]!["test/ndcg@10"]!;
    table[model] = { ...own };
    console.log(comparison(table));
  }
}

const describe = (data: Interactions): string => {
  const { users, items } = catalogueOf({ train: data });
  return `${data.user.length} interactions of ${users} users with ${items} items`;
};

function comparison(table: Table): string {
  const columns = Object.keys(METRICS);
  const row = (name: string, cells: readonly string[]) =>
    name.padEnd(12) + cells.map((cell) => cell.padStart(11)).join("");
  const rows = Object.entries(table).map(([name, values]) =>
    row(
      name,
      columns.map((column) => values[`test/${column}`]!.toFixed(4)),
    ),
  );
  return [row("test", columns), ...rows].join("\n");
}
