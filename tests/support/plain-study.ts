// A study of one number, for tests of where trials run: what it searches does not matter.
import { random, Study, uniform, type StudyOptions } from "hookline/tune";

const space = { x: uniform(0, 1) };

export type PlainStudy = Study<typeof space>;
export type PlainOptions = Partial<StudyOptions<typeof space>>;

/** The trial of this name in tests/tune/trial-module.ts. */
export const trialNamed = (name: string): string => `./tests/tune/trial-module.ts#${name}`;

export const plainStudy = (trial: StudyOptions<typeof space>["trial"], options: PlainOptions): PlainStudy =>
  new Study({ space, sampler: random(space), objective: "loss", trial, signals: false, ...options });
