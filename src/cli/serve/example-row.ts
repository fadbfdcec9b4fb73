// A row that shows what a model takes, for the line that is printed when a server starts.
import type { PredictSignature, TensorSpec } from "../../predict/types.ts";

const EXAMPLES = { number: 0, boolean: false, date: "2024-05-31", string: "…" } as const;

export function exampleRow({ inputs = {} }: PredictSignature): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, spec]) => [name, "type" in spec ? EXAMPLES[spec.type] : zeros(spec)]),
  );
}

function zeros({ shape }: TensorSpec): unknown {
  const nested = (sizes: readonly (number | null)[]): unknown => {
    const [size, ...rest] = sizes;
    return size === undefined ? 0 : Array.from({ length: size ?? 1 }, () => nested(rest));
  };
  return nested(shape.slice(1));
}
