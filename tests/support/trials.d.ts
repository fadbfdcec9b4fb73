import type { SpaceTree } from "../../src/tune/space/parameter.ts";
import { Space } from "../../src/tune/space/space.ts";
import type { Params, Sampler, StudyView, TrialRecord } from "../../src/tune/types.ts";
/** A study of one loss. */
export declare const minimise: (space: Space | SpaceTree, totalTrials?: number) => StudyView;
export declare const completed: (number: number, params: Params, loss: number) => TrialRecord;
/** A trial that has reported these losses at steps 1, 2, … */
export declare function reported(number: number, losses: readonly number[], status?: TrialRecord["status"]): TrialRecord;
/** Runs a sampler against a function of the params, one trial after another. */
export declare function minimiseWith(sampler: Sampler, space: Space, loss: (params: Params) => number, trials: number): readonly TrialRecord[];
export declare function median(values: readonly number[]): number;
