// Starts train-child.ts, from its source.
import { fileURLToPath } from "node:url";
import { startNoting, type NotingChild } from "../support/noting-child.ts";
import type { ChildOptions, Note } from "./train-child.ts";

const script = fileURLToPath(new URL("./train-child.ts", import.meta.url));

export const startChild = (options: ChildOptions): NotingChild<Note> =>
  startNoting(["--import", "tsx", script, JSON.stringify(options)]);
