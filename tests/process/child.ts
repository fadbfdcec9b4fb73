// Starts train-child.ts.
import { compiled } from "../support/programs.ts";
import { startNoting, type NotingChild } from "../support/noting-child.ts";
import type { ChildOptions, Note } from "./train-child.ts";

const script = compiled(new URL("./train-child.ts", import.meta.url));

export const startChild = (options: ChildOptions): NotingChild<Note> => startNoting([script, JSON.stringify(options)]);
