// Which field and which verb are valid in which event, asked at run time: for those who have no compiler to tell them.
import { EVENTS, isCustomEvent } from "./events.ts";
import { SKIP_SCOPES, VERBS, type SkipScope, type VerbName } from "./verbs.ts";

const FIELDS_OF = new Map<string, ReadonlySet<string>>(
  Object.entries(EVENTS).map(([event, info]) => [event, new Set(info.fields)]),
);
const VERB_EVENTS = new Map<string, ReadonlySet<string>>(
  Object.entries(VERBS).map(([verb, info]) => [verb, new Set(info.events)]),
);
/** There is no batch yet that could be skipped. */
const BEFORE_BATCH = new Set(["epochBegin", "stepBegin", "beforeFetch"]);

/** Own events allow what `stepEnd` allows. */
const rowOf = (event: string): string => (isCustomEvent(event) ? "stepEnd" : event);

export const showsField = (event: string, field: string): boolean => FIELDS_OF.get(event)?.has(field) ?? false;

export const allowsVerb = (event: string, verb: VerbName): boolean => VERB_EVENTS.get(verb)!.has(rowOf(event));

/** The events that show a field, for the advice in an error. */
export const eventsWith = (field: string): string =>
  [...FIELDS_OF].flatMap(([event, fields]) => (fields.has(field) ? [event] : [])).join(", ");

/** Why a scope cannot be skipped in an event; undefined when it can. */
export function skipProblem(scope: SkipScope, event: string): string | undefined {
  if ((SKIP_SCOPES[scope] as readonly string[]).includes(rowOf(event))) return undefined;
  const late = allowsVerb(event, "skip") ? "comes too late" : "is not valid";
  const wrong = BEFORE_BATCH.has(event) ? "comes too early" : late;
  return `ctx.skip("${scope}") ${wrong} in \`${event}\`; it works in ${SKIP_SCOPES[scope].join(", ")}.`;
}
