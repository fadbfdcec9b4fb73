// The built-in sources of data by name.
import { csv } from "../sources/csv.ts";
import { safetensors } from "../sources/safetensors.ts";
import type { Components } from "./component.ts";

const files = { file: "read" } as const;

export const sources: Components = {
  csv: { make: csv, files },
  safetensors: { make: safetensors, files },
};
