// What one thread does of a step, in words that can be sent to it.
import type { Contraction } from "../plan/contract.ts";
import type { Products } from "../products.ts";
import type { CompiledKernel } from "../wasm/compile.ts";

/** A place in memory: of a buffer of the program, some bytes behind its beginning; or always the same. */
export type Place = { readonly buffer: number; readonly offset: number } | { readonly at: number };

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
    };

/** Does it; addresses are by the program's buffers. */
export type Run = (addresses: Uint32Array) => void;

export function bindPart(part: Part, kernels: (index: number) => CompiledKernel, products: Products): Run {
  if (part.kind === "contraction") {
    const { run } = products.compile(part.contraction);
    const [left, right, out] = [finder(part.left), finder(part.right), finder(part.out)];
    return (addresses) => run(left(addresses), right(addresses), out(addresses));
  }
  const kernel = kernels(part.kernel);
  const find = part.places.map(finder);
  const args = [...find.map(() => 0), ...part.rest];
  return (addresses) => {
    for (let i = 0; i < find.length; i++) args[i] = find[i]!(addresses);
    kernel(...args);
  };
}

function finder(place: Place): (addresses: Uint32Array) => number {
  if ("at" in place) return () => place.at;
  const { buffer, offset } = place;
  return (addresses) => addresses[buffer]! + offset;
}
