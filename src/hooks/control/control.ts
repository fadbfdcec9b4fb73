// control: a running training takes commands from outside: pause, step, rates, saves, evaluations, rollbacks, a stop.
import type { ContextOf } from "../../core/context.ts";
import { OptionError } from "../../core/errors.ts";
import type { Hook } from "../../core/hook.ts";
import { component } from "../../core/component.ts";
import { is, show } from "../../core/options.ts";
import { warnUser } from "../../platform/print.ts";
import { COMMANDS, commandsOf } from "../../runs/control/commands.ts";
import type { Bounds, JournalLine } from "../../runs/control/types.ts";
import type { ControlDesk } from "./control-desk.ts";

/** Options of `control`. */
export interface ControlOptions {
  /**
   * The commands that are accepted. Default: all, and those of `own`. `hook` switches any hook but `control`, `logger` and
   * `modelCheckpoint`; name one of these as `hook:logger`.
   */
  readonly allow?: readonly string[];
  /** Ranges: `lr` of factors on the schedule's rate (default 0.01 to 10), `accumulate` of micro-batches (1 to 1024). */
  readonly bounds?: { readonly lr?: readonly [number, number]; readonly accumulate?: readonly [number, number] };
  /** Seconds after which a pause ends by itself. Default: it does not. */
  readonly maxPause?: number;
  /** Commands of your own: custom events, defined with `defineEvent`. The command's arguments are the payload. */
  readonly own?: readonly string[];
  /** Milliseconds between two looks into the inbox, where the system does not report new files. Default 250. */
  readonly look?: number;
  /** Whether a resumed run repeats the commands that came after its checkpoint. Default true. */
  readonly replay?: boolean;
  /** The journal of another run, or its lines: its commands are repeated at the same steps. */
  readonly script?: string | readonly JournalLine[];
}

const DEFAULT_BOUNDS = { lr: [0.01, 10], accumulate: [1, 1024] } as const;

const range = {
  expected: "[min, max]",
  schema: { type: "array", items: { type: "number" }, minItems: 2, maxItems: 2 },
  test: (value: unknown) =>
    Array.isArray(value) && value.length === 2 && value.every(is.number.test) && Number(value[0]) <= Number(value[1]),
};

/**
 * Listens to commands from `hookline ctl`, `hookline ui` and `sendCommand` in the run's directory. Each is written to
 * `control.jsonl` before it is carried out, at the end of a step, and repeated when the run is resumed.
 * @example control({ allow: ["pause", "continue", "step", "save", "stop"] })
 */
export const control = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "control",
    takes: () => ({
      options: {
        allow: is.arrayOf(is.name),
        bounds: is.object,
        maxPause: is.positive,
        own: is.arrayOf(is.name),
        look: is.positive,
        replay: is.boolean,
        script: is.or(is.pathToRead, is.array),
      },
    }),
  },
  makeControl,
);

function makeControl(options: ControlOptions = {}): Hook {
  const { own = [], maxPause, look = 250, replay = true, script } = options;
  const allow = options.allow ?? [...commandsOf("run"), ...own];
  checkAllowed(allow, own);
  const bounds: Bounds = { ...DEFAULT_BOUNDS, ...checkedBounds(options.bounds ?? {}) };
  const settings = { allow, bounds, own, maxPause, look, replay, script };
  let desk: ControlDesk | undefined;
  /** What a checkpoint keeps: the run, and the last command that is in it. */
  let saved: { readonly run: string; readonly last: string | null } | undefined;

  return {
    name: "control",
    stage: "monitor",
    // A full disk must not end a training.
    onError: "warn",
    ranks: "main",
    async onTrainBegin(ctx) {
      desk?.close();
      // Loaded where it is used: a browser has no files.
      const { ControlDesk: Desk } = await import("./control-desk.ts");
      desk = new Desk(ctx, settings, saved, (message) => warnUser(ctx.config, `control: ${message}`));
      saved = undefined;
      await desk.open(ctx);
    },
    onPause: (ctx: ContextOf<"pause">) => desk?.paused(ctx),
    onContinue: () => desk?.continued(),
    onCommand: (ctx) => desk?.command(ctx),
    onEvalBegin: () => desk?.begins("evaluating"),
    onEvalEnd: () => desk?.ends(),
    onBeforeSave: () => desk?.begins("saving"),
    onAfterSave: () => desk?.ends(),
    onSaveError: () => desk?.ends(),
    onTrainEnd: () => desk?.end(),
    onClose() {
      desk?.close();
      // A second `fit` of the same trainer continues after the last command.
      if (desk) saved = desk.state;
      desk = undefined;
    },
    state: () => ({ json: { ...(desk?.state ?? saved ?? { run: "", last: null }) } }),
    load: ({ json }) => void (saved = json as unknown as NonNullable<typeof saved>),
  };
}

function checkAllowed(allow: readonly string[], own: readonly string[]): void {
  for (const name of own)
    if (Object.hasOwn(COMMANDS, name))
      throw new OptionError(`control: \`${name}\` is a command of hookline; give yours another name.`);
  const known = [...commandsOf("run"), ...own];
  const wrong = allow.find((name) => !known.includes(name) && !name.startsWith("hook:"));
  if (wrong !== undefined)
    throw new OptionError(
      `control: \`allow\` has \`${wrong}\`, which is not a command. Commands: ${known.join(", ")}.`,
    );
}

function checkedBounds(bounds: NonNullable<ControlOptions["bounds"]>): Bounds {
  for (const [name, value] of Object.entries(bounds)) {
    if (!Object.hasOwn(DEFAULT_BOUNDS, name))
      throw new OptionError(`control: unknown bound \`${name}\`. Known: ${Object.keys(DEFAULT_BOUNDS).join(", ")}.`);
    if (!range.test(value))
      throw new OptionError(`control: expected \`bounds.${name}\` to be [min, max], got ${show(value)}.`);
  }
  return bounds;
}
