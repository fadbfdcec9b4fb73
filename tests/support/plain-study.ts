// A study of one number, for tests of where trials run: what it searches does not matter.
import { relative } from "node:path";
import { random, Study, uniform, type StudyOptions } from "hookline/tune";
import { compiled } from "./programs.ts";

const space = { x: uniform(0, 1) };

export type PlainStudy = Study<typeof space>;
export type PlainOptions = Partial<StudyOptions<typeof space>>;

/** The trial of this name in tests/tune/trial-module.ts: compiled, since each process of trials loads it. */
export const trialNamed = (name: string): string =>
  `./${relative(process.cwd(), compiled(new URL("../tune/trial-module.ts", import.meta.url)))}#${name}`;

export const plainStudy = (trial: StudyOptions<typeof space>["trial"], options: PlainOptions): PlainStudy =>
  new Study({ space, sampler: random(space), objective: "loss", trial, signals: false, ...options });
