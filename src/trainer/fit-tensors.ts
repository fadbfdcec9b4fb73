// Host tensors that are to stand for a model's own: names, shapes and types checked against it.
import { toHostArray, type HostArray, type TypedArray } from "../core/arrays.ts";
import { DataError } from "../core/errors.ts";
import type { HostTensors } from "../core/model.ts";
import { show } from "../core/options.ts";
import { didYouMean } from "../core/suggest.ts";

/** The tensors in the order of `own`, each of its shape and number type; `what` names them in errors. */
export function fitTensors(what: string, tensors: HostTensors, own: HostTensors, wayOut = ""): HostTensors {
  if (typeof tensors !== "object" || tensors === null) {
    throw new DataError(`${what}: expected tensors by name, as stateDict() returns them, got ${show(tensors)}.`);
  }
  const names = Object.keys(own);
  for (const name of Object.keys(tensors)) {
    if (Object.hasOwn(own, name)) continue;
    throw new DataError(`${what} has \`${name}\`, which this model does not.${didYouMean(name, names)}${wayOut}`);
  }
  const missing = names.filter((name) => !Object.hasOwn(tensors, name));
  if (missing.length > 0)
    throw new DataError(`${what} lacks ${missing.join(", ")}. It must have every tensor of the model.${wayOut}`);
  return Object.fromEntries(names.map((name) => [name, fitTensor(what, name, tensors[name]!, own[name]!)]));
}

function fitTensor(what: string, name: string, tensor: HostArray, own: HostArray): HostArray {
  const { data, shape } = toHostArray(tensor, `${what}, tensor \`${name}\``);
  if (shape.join() !== own.shape.join()) {
    throw new DataError(
      `${what}: \`${name}\` has shape [${shape.join(", ")}]; this model wants [${own.shape.join(", ")}].`,
    );
  }
  const Type = own.data.constructor as new (values: Iterable<number>) => TypedArray;
  return { data: data instanceof Type ? data : new Type(data), shape };
}
