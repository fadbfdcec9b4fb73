// What one thread does of a step, in words that can be sent to it.
import type { Convolution } from "../conv/convolution.ts";
import type { CompiledContraction, Contraction } from "../plan/contract.ts";
import type { Products } from "../products.ts";
import type { CompiledKernel } from "../wasm/compile.ts";

/**
 * A place in memory: of a buffer of the program, some bytes behind its beginning, and some more in each round; or always
 * the same.
 */
export type Place =
  | { readonly buffer: number; readonly offset: number; readonly round?: number }
  | { readonly at: number };

export type Part =
  | {
      readonly kind: "kernel";
      /** Its number in the program's module. */
      readonly kernel: number;
      readonly places: readonly Place[];
      /** What is known beforehand: the scratch memory, and the range of a kernel that does one. */
      readonly rest: readonly number[];
    }
  | {
      readonly kind: "contraction";
      readonly contraction: Contraction;
      readonly left: Place;
      readonly right: Place;
      readonly out: Place;
    }
  | {
      readonly kind: "convolution";
      readonly convolution: Convolution;
      readonly image: Place;
      readonly kernel: Place;
      readonly out: Place;
    }
  /** Some parts in order, several times. */
  | { readonly kind: "rounds"; readonly times: number; readonly parts: readonly Part[] };

/** Does it; addresses are by the program's buffers. */
export type Run = (addresses: Float64Array, round?: number) => void;

export function bindPart(part: Part, kernels: (index: number) => CompiledKernel, products: Products): Run {
  if (part.kind === "contraction") {
    return bindProduct(products.compile(part.contraction), part.left, part.right, part.out);
  }
  if (part.kind === "convolution") {
    return bindProduct(products.convolve(part.convolution), part.image, part.kernel, part.out);
  }
  if (part.kind === "rounds") {
    const runs = part.parts.map((each) => bindPart(each, kernels, products));
    return (addresses) => {
      for (let round = 0; round < part.times; round++) for (const run of runs) run(addresses, round);
    };
  }
  const kernel = kernels(part.kernel);
  const find = part.places.map(finder);
  const args = [...find.map(() => 0), ...part.rest];
  return (addresses, round = 0) => {
    for (let i = 0; i < find.length; i++) args[i] = find[i]!(addresses, round);
    kernel(...args);
  };
}

function bindProduct(product: CompiledContraction, ...places: readonly [Place, Place, Place]): Run {
  const [left, right, out] = places.map(finder) as [Finder, Finder, Finder];
  return (addresses, round = 0) => product.run(left(addresses, round), right(addresses, round), out(addresses, round));
}

type Finder = (addresses: Float64Array, round: number) => number;

function finder(place: Place): Finder {
  if ("at" in place) return () => place.at;
  const { buffer, offset, round: step = 0 } = place;
  return (addresses, round) => addresses[buffer]! + offset + round * step;
}
