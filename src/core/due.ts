// `ctx.due`: a hook's own cadences inside its methods, parsed once for each event.
import { CadenceRule, type Cadence, type Moment } from "./cadence.ts";

type Rules = Map<string, CadenceRule>;

export class DueRules {
  readonly #hook: string;
  /** By event and, for a cadence that is a number or a string, its text. */
  readonly #plain: Rules = new Map();
  readonly #objects = new WeakMap<object, Rules>();

  constructor(hook: string) {
    this.#hook = hook;
  }

  due(cadence: Cadence, event: string, moment: Moment): boolean {
    const isObject = typeof cadence === "object";
    const rules = isObject ? this.#rulesOf(cadence) : this.#plain;
    const key = isObject ? event : `${event} ${typeof cadence} ${cadence}`;
    let rule = rules.get(key);
    if (!rule) rules.set(key, (rule = new CadenceRule("ctx.due", cadence, event, this.#hook)));
    return rule.due(moment);
  }

  #rulesOf(cadence: object): Rules {
    let rules = this.#objects.get(cadence);
    if (!rules) this.#objects.set(cadence, (rules = new Map()));
    return rules;
  }
}
