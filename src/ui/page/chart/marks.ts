// What happened to a run, as marks in the lanes under its charts: changes, checkpoints, evaluations, parts.
import type { RunEvent } from "../../../runs/types.ts";
import type { Axis, RunPage } from "../../wire.ts";
import type { Points } from "../data/series-feed.ts";
import * as format from "../format.ts";
import { valueAt } from "./summary.ts";

export type MarkKind =
  | "hand"
  | "hook"
  | "request"
  | "refused"
  | "note"
  | "checkpoint"
  | "evaluation"
  | "part"
  | "error"
  | "pause";

export interface Mark {
  readonly kind: MarkKind;
  /** NaN: not known. */
  readonly step: number;
  readonly time: number;
  /** `setLr(0.0015)` */
  readonly what: string;
  readonly who: string;
  readonly why: string;
}

export interface Lane {
  readonly label: string;
  readonly kinds: readonly MarkKind[];
}

export const LANES: readonly Lane[] = [
  { label: "changes", kinds: ["hand", "hook", "refused", "note", "error", "pause"] },
  { label: "evals", kinds: ["evaluation"] },
  { label: "saves", kinds: ["checkpoint"] },
  { label: "parts", kinds: ["part"] },
];

/** What a screen reader and a tooltip call it. */
export const KIND_NAMES: Readonly<Record<MarkKind, string>> = {
  hand: "by hand",
  hook: "by a hook",
  request: "by a hook",
  refused: "refused",
  note: "note",
  checkpoint: "checkpoint",
  evaluation: "evaluation",
  part: "resumed",
  error: "error of a hook",
  pause: "pause",
};

/** What hooks ask for again and again; the checkpoint or the evaluation itself is on the chart. */
const ROUTINE = /^request(?:Save|Eval)\b/;

/** `setLr(0.0033333333333333335)` */
const LONG_NUMBER = /\d*\.\d{6,}(?:e[-+]?\d+)?/g;

const text = (thing: unknown): string => (thing === undefined || thing === null ? "" : format.value(thing));

function markOf({ type, step, time, details }: RunEvent): Mark | undefined {
  const who = text(details.by ?? details.who ?? details.hook);
  const given = text(details.why ?? details.reason);
  // What a command without a reason has says only who sent it.
  const why = given === `asked for by ${who}` ? "" : given;
  const what = text(details.what).replaceAll(LONG_NUMBER, (digits) => format.number(Number(digits)));
  const mark = (kind: MarkKind, name: string, because = why): Mark => ({
    kind,
    step,
    time,
    what: name,
    who,
    why: because,
  });
  // Later versions may have types that this one does not know.
  switch (type as string) {
    case "refused":
      return mark("refused", what, text(details.refused));
    case "intervention": {
      if (/^note\b/.test(what)) return mark("note", text(details.why) || what, "");
      if (details.by !== undefined) return mark("hand", what);
      return mark(ROUTINE.test(what) ? "request" : "hook", what);
    }
    case "save": {
      // It was finished some steps later.
      const saved = typeof details["step"] === "number" ? details["step"] : step;
      return { ...mark("checkpoint", text(details.name ?? details.checkpoint) || `checkpoint ${saved}`), step: saved };
    }
    case "hookError":
    case "saveError":
      return mark(
        "error",
        type === "saveError" ? "a checkpoint could not be saved" : `error in ${who}`,
        text(details.error ?? details.message),
      );
    case "pause":
    case "continue":
      return mark("pause", type);
    default:
      return undefined;
  }
}

const CHANGES: ReadonlySet<MarkKind> = new Set(["hand", "hook", "request"]);

const isSame = (a: Mark, b: Mark): boolean => a.step === b.step && a.what === b.what && a.who === b.who;

/** The marks of a run. After a resume from an earlier step, what was done beyond that step did not happen. */
export function marksOf(events: readonly RunEvent[], parts: RunPage["parts"]): Mark[] {
  let marks: Mark[] = [];
  for (const event of events) {
    if (event.type === "start") marks = marks.filter(({ step }) => step <= event.step);
    const mark = markOf(event);
    if (!mark) continue;
    // The line of the request came first: what was refused did not happen.
    if (mark.kind === "refused") {
      const asked = marks.findLastIndex((each) => CHANGES.has(each.kind) && isSame(each, mark));
      if (asked >= 0) marks.splice(asked, 1);
    }
    marks.push(mark);
  }
  for (const { step, startedAt } of parts.slice(1))
    marks.push({ kind: "part", step, time: startedAt, what: "resumed", who: "", why: "" });
  return marks;
}

/** A mark with its position on the axis of a chart; undefined where that is not known. */
export interface Located extends Mark {
  readonly at: number | undefined;
}

/** `steps` has the step at positions of the axis: marks know only their step and their time. */
export function locate(marks: readonly Mark[], axis: Axis, steps: Points | null): Located[] {
  const atStep = (step: number): number | undefined => {
    const i = steps?.y.findIndex((each) => each >= step) ?? -1;
    return i < 0 ? steps?.x.at(-1) : steps!.x[i];
  };
  return marks.map((mark) => ({
    ...mark,
    at: axis === "step" ? mark.step : axis === "time" ? mark.time : atStep(mark.step),
  }));
}

/** More lie on each other. */
const MOST_EVALUATIONS = 500;

/** Evaluations are where their metric has points: no event says more about them. */
export function locateEvaluations(name: string, points: Points, axis: Axis, steps: Points | null): Located[] {
  const every = Math.ceil(points.x.length / MOST_EVALUATIONS);
  const located: Located[] = [];
  for (let i = 0; i < points.x.length; i += every) {
    const at = points.x[i]!;
    located.push({
      kind: "evaluation",
      at,
      step: axis === "step" ? at : ((steps && valueAt(steps, at)?.y) ?? NaN),
      time: axis === "time" ? at : NaN,
      what: `${name} ${format.number(points.y[i])}`,
      who: "",
      why: "",
    });
  }
  return located;
}

export const describe = ({ kind, what, who, why, step, time }: Mark): string =>
  [
    `${what} · ${KIND_NAMES[kind]}${who ? `, ${who}` : ""}`,
    [Number.isNaN(step) ? "" : `step ${format.integer(step)}`, Number.isNaN(time) ? "" : format.clock(time)]
      .filter(Boolean)
      .join(", "),
    why,
  ]
    .filter(Boolean)
    .join("\n");
