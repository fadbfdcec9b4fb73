// What happened to a run, as marks in the lanes under its charts: changes, checkpoints, evaluations, parts.
import type { RunEvent } from "../../../runs/types.ts";
import type { Axis, RunPage } from "../../wire.ts";
import type { Points } from "../data/series-feed.ts";
import * as format from "../format.ts";

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
    case "intervention": {
      if (details.refused !== undefined && details.refused !== false)
        return mark("refused", what, text(details.refused === true ? why : details.refused));
      if (/^note\b/.test(what)) return mark("note", text(details.why) || what);
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

/** The marks of a run. After a resume from an earlier step, what was done beyond that step did not happen. */
export function marksOf(events: readonly RunEvent[], parts: RunPage["parts"]): Mark[] {
  let marks: Mark[] = [];
  for (const event of events) {
    if (event.type === "start") marks = marks.filter(({ step }) => step <= event.step);
    const mark = markOf(event);
    if (mark) marks.push(mark);
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

export const describe = (mark: Mark): string =>
  [
    `${mark.what} · ${KIND_NAMES[mark.kind]}${mark.who ? `, ${mark.who}` : ""}`,
    `step ${format.integer(mark.step)}, ${format.clock(mark.time)}`,
    mark.why,
  ]
    .filter(Boolean)
    .join("\n");
