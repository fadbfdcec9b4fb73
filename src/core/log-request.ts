// A hook's own cadence for `log`: it makes the event fire in steps in which the trainer's `logEvery` is not due.
import { boundaryEvent, CadenceRule, type Cadence, type Moment } from "./cadence.ts";

/** Only these name points of the run; the others choose among the boundaries that log anyway. */
const namesPoints = (cadence: Cadence): boolean =>
  typeof cadence !== "object" || cadence.every !== undefined || cadence.at !== undefined;

export class LogRequest {
  readonly #boundary: "stepEnd" | "epochEnd";
  readonly #rules: readonly CadenceRule[];
  readonly #logRules: readonly CadenceRule[];

  /** The request that a hook's cadences make, all of which must be due; undefined when they name no points. */
  static of(cadences: readonly Cadence[], hook: string): LogRequest | undefined {
    return cadences.some(namesPoints) ? new LogRequest(cadences, hook) : undefined;
  }

  constructor(cadences: readonly Cadence[], hook: string) {
    const what = `Hook \`${hook}\`: logEvery`;
    const inEpochs = cadences.every((cadence) => boundaryEvent(what, cadence) === "epochEnd");
    this.#boundary = inEpochs ? "epochEnd" : "stepEnd";
    this.#rules = cadences.map((cadence) => new CadenceRule(what, cadence, this.#boundary, hook));
    this.#logRules = cadences.map((cadence) => new CadenceRule(what, cadence, "log", hook));
  }

  /** Asked at a boundary: must `log` fire for this hook? */
  due(boundary: "stepEnd" | "epochEnd", moment: Moment): boolean {
    return boundary === this.#boundary && this.#rules.every((rule) => rule.due(moment));
  }

  /** Asked in `log`: does it fire for this hook? */
  isMet(moment: Moment): boolean {
    return this.#logRules.every((rule) => rule.due(moment));
  }
}
