import { Space } from "../../src/tune/space/space.js";
/** A study of one loss. */
export const minimise = (space, totalTrials) => ({
    space: Space.of(space),
    objectives: [{ metric: "loss", mode: "min" }],
    totalTrials,
});
export const completed = (number, params, loss) => ({
    number,
    params,
    status: "completed",
    reports: [],
    result: { loss },
});
/** A trial that has reported these losses at steps 1, 2, … */
export function reported(number, losses, status = "running") {
    const reports = losses.map((loss, i) => ({ step: i + 1, values: { loss } }));
    return { number, params: {}, status, reports, result: reports.at(-1)?.values };
}
/** Runs a sampler against a function of the params, one trial after another. */
export function minimiseWith(sampler, space, loss, trials) {
    const records = [];
    for (let number = 0; number < trials; number++) {
        const params = sampler.suggest(number, records, minimise(space));
        records.push(completed(number, params, loss(params)));
    }
    return records;
}
export function median(values) {
    const sorted = values.toSorted((a, b) => a - b);
    return (sorted[Math.ceil(sorted.length / 2) - 1] + sorted[Math.floor(sorted.length / 2)]) / 2;
}
