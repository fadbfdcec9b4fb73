// A study without training: trials follow given curves on several workers, and a scheduler decides about them.
import { Rng } from "../../src/data/random.js";
/** Steps take a little more or less time, so that trials overtake each other; the same every time. */
export function simulate({ scheduler, study, trials: total, maxSteps, workers, loss, params }) {
    const trials = [];
    const decisions = [];
    const resumable = [];
    const clock = new Rng(workers, total);
    const busy = [];
    let [time, steps] = [0, 0];
    const start = (trial) => {
        trial.status = "running";
        busy.push({ trial, until: time + 0.5 + clock.next() });
    };
    const fill = () => {
        while (busy.length < workers) {
            const next = resumable.shift();
            if (next !== undefined)
                start(trials[next]);
            else if (trials.length < total) {
                const number = trials.length;
                trials.push({ number, params: params?.(number) ?? {}, status: "waiting", reports: [], result: undefined });
                start(trials[number]);
            }
            else
                return;
        }
    };
    /** One step of one trial; false when it leaves its worker. */
    const advance = (trial) => {
        const step = (trial.reports.at(-1)?.step ?? 0) + 1;
        const value = loss(trial.number, step, trial.params);
        steps++;
        if (value === undefined) {
            trial.status = "failed";
            return false;
        }
        const report = { step, values: { loss: value } };
        trial.reports.push(report);
        trial.result = report.values;
        const decision = scheduler.decide(trial, report, trials, study);
        if (decision.kind !== "continue")
            decisions.push({ trial: trial.number, step, decision });
        if (decision.kind === "exploit")
            trial.params = decision.params;
        if (decision.kind === "prune")
            trial.status = "pruned";
        else if (decision.kind === "pause")
            trial.status = "paused";
        else if (step === maxSteps)
            trial.status = "completed";
        return trial.status === "running";
    };
    fill();
    while (busy.length > 0) {
        busy.sort((a, b) => a.until - b.until);
        const turn = busy.shift();
        time = turn.until;
        if (advance(turn.trial))
            busy.push({ trial: turn.trial, until: time + 0.5 + clock.next() });
        for (const number of scheduler.resume?.(trials, study) ?? []) {
            trials[number].status = "waiting";
            resumable.push(number);
        }
        for (const number of scheduler.drop?.(trials, study) ?? [])
            trials[number].status = "pruned";
        fill();
    }
    return { trials, steps, decisions };
}
