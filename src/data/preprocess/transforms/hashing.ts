// hashing: categories of any number as a fixed number of features.
import { component } from "../../../core/component.ts";
import { codedOf } from "../categories.ts";
import { featureCount } from "../feature-count.ts";
import { bucketOf, murmur3, signOf } from "../hash.ts";
import { ANY_TYPE, makeTransform, type Transform } from "../transform.ts";

/** Options of `hashing`. */
export interface HashingOptions {
  /** The number of features (default 32). */
  readonly size?: number;
}

/**
 * Hashes each category to one of a few features, where it is 1 or −1. It learns nothing, so no category is unknown, and
 * none is an error; some share a feature. A missing value is 0 in all.
 */
export const hashing = /* @__PURE__ */ component(
  { kind: "transform", name: "hashing", takes: () => ({ options: { size: featureCount } }) },
  (options: HashingOptions = {}): Transform => {
    const { size = 32 } = options;
    return makeTransform<object>("hashing", options, {
      takes: ANY_TYPE,
      acceptsMissing: true,
      state: {},
      fit: () => ({}),
      open() {
        let known: readonly string[] | undefined;
        let hashes = new Int32Array(0);
        return {
          features: Array.from({ length: size }, (_, i) => `#${i}`),
          write(column, out, at, stride) {
            const { codes, names } = codedOf(column);
            if (names !== known) [known, hashes] = [names, Int32Array.from(names, (name) => murmur3(name))];
            for (let i = 0; i < codes.length; i++) {
              if (codes[i]! < 0) continue;
              const hash = hashes[codes[i]!]!;
              out[at + i * stride + bucketOf(hash, size)] = signOf(hash);
            }
          },
        };
      },
    });
  },
);
