// A space from the first line of a study's journal: for who looks at a study without the program that made it.
import type { Json } from "../../core/json.ts";
import { choice } from "./choice.ts";
import type { Node } from "./compile.ts";
import { int } from "./int.ts";
import { logUniform } from "./log-uniform.ts";
import type { NumberParameter, SpaceTree, SpaceValue } from "./parameter.ts";
import { Space } from "./space.ts";
import { uniform } from "./uniform.ts";

/** The counterpart of describeSpace. */
export function spaceFromJournal(described: Json): Space {
  // As describeSpace wrote it: all of a node but its functions.
  return new Space(valueOf(described as unknown as Node) as SpaceTree);
}

function valueOf(node: Node): SpaceValue {
  switch (node.kind) {
    case "constant":
      return node.value;
    case "number":
      return numberOf(node.entry.domain);
    case "object":
      return Object.fromEntries(node.entries.map(([key, child]) => [key, valueOf(child)]));
    default:
      return choice(node.options.map(valueOf));
  }
}

function numberOf({ kind, low, high, step, log }: NumberParameter): NumberParameter {
  if (kind === "uniform") return uniform(low, high);
  if (kind === "logUniform") return logUniform(low, high);
  return int(low, high, log ? { log } : { step: step ?? 1 });
}
