import type { Decision, Params, Scheduler, StudyView, TrialRecord } from "../../src/tune/types.ts";
export interface Simulation {
    readonly scheduler: Scheduler;
    readonly study: StudyView;
    readonly trials: number;
    readonly maxSteps: number;
    readonly workers: number;
    /** The loss of a trial at a step; undefined: it fails there. */
    readonly loss: (number: number, step: number, params: Params) => number | undefined;
    readonly params?: (number: number) => Params;
}
export interface Simulated {
    readonly trials: readonly TrialRecord[];
    /** How many steps were run in all. */
    readonly steps: number;
    readonly decisions: readonly {
        readonly trial: number;
        readonly step: number;
        readonly decision: Decision;
    }[];
}
/** Steps take a little more or less time, so that trials overtake each other; the same every time. */
export declare function simulate({ scheduler, study, trials: total, maxSteps, workers, loss, params }: Simulation): Simulated;
