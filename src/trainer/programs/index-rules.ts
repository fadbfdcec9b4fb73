// What the programs of a spec expect of the batch's labels and ids: learned while they are traced, checked on the host
// before each batch goes to the device, which costs one pass over these fields.
import { DataError } from "../../core/errors.ts";
import type { HostBatch, TensorBatch } from "../../core/model.ts";
import { outOfRange, visitIndices, type PlacedRange } from "../../nn/indices.ts";

interface Rule {
  readonly field: string;
  readonly range: PlacedRange;
  /** Part of the model and its loss, or of a metric? */
  readonly part: "loss" | "metric";
}

export class IndexRules {
  readonly #loader: string;
  readonly #rules = new Map<string, Rule>();
  /** The batch that the next program runs on. */
  #host: HostBatch = {};

  constructor(loader: string) {
    this.#loader = loader;
  }

  /** Checks a batch. The first one is checked while its program is traced: before that there are no rules. */
  check(host: HostBatch): void {
    this.#host = host;
    for (const rule of this.#rules.values()) this.#apply(rule);
  }

  /** Traces the part of a program that computes on `batch`. */
  watch<T>(part: Rule["part"], batch: TensorBatch, body: () => T): T {
    return visitIndices((x, range) => {
      // A field as it is. What the model computes from one has no values on the host; there NaN shows what is wrong.
      const field = Object.keys(batch).find((name) => batch[name] === x);
      if (field === undefined) return;
      const rule = { field, range, part };
      this.#rules.set(JSON.stringify(rule), rule);
      this.#apply(rule);
    }, body);
  }

  /** A field with labels that the loss leaves out, and their value; undefined when it has none. */
  masked(host: HostBatch): { readonly field: string; readonly ignoreIndex: number } | undefined {
    for (const { field, range, part } of this.#rules.values()) {
      const { ignoreIndex } = range;
      const data = host[field]?.data;
      if (part === "loss" && data && ignoreIndex !== undefined && data.includes(ignoreIndex))
        return { field, ignoreIndex };
    }
    return undefined;
  }

  #apply({ field, range }: Rule): void {
    const array = this.#host[field];
    const bad = array && outOfRange(range, array.data, array.shape);
    if (bad !== undefined) throw new DataError(`Loader \`${this.#loader}\`, batch field \`${field}\`: ${bad}.`);
  }
}
