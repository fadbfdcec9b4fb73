// One run of a study, from setup to end: connects its runner, its hooks and its controller.
import { TUNE_EVENTS, type TuneContexts, type TuneEvent } from "../core/outer-events.ts";
import { OuterHooks, OuterState } from "../core/registry/outer-hooks.ts";
import type { HookFailure } from "../core/hook.ts";
import { Shared } from "../core/shared.ts";
import { builtin } from "../platform/builtin.ts";
import { currentPlatform } from "../platform/platform.ts";
import { Interruptions } from "../trainer/interruptions.ts";
import { Controller } from "./controller.ts";
import type { ModuleHooks } from "./module-hooks.ts";
import type { StudyDesk } from "./study-desk.ts";
import type { Ending } from "./study-end.ts";
import { errorOf } from "./study-errors.ts";
import { loadHookStates, saveHookStates, StudyEvents } from "./study-events.ts";
import type { StudyPlan } from "./study-options.ts";
import { infoOf } from "./study-state.ts";
import type { StudyStore } from "./study-store.ts";

/** How a study ended. */
export interface StudyEnd {
  readonly status: Exclude<Ending["status"], "error">;
  /** Why it ended: its trials or another budget, a hook's stop, a signal. */
  readonly reason: string;
  /** The hook or signal that requested the end; empty when a budget did. */
  readonly requestedBy: string;
  /** Errors that did not end the study, because of the hook's error policy. */
  readonly hookErrors: readonly HookFailure[];
}

interface RunOptions {
  readonly plan: StudyPlan;
  readonly store: StudyStore;
  readonly warn: (message: string) => void;
  readonly signal?: AbortSignal;
}

/** Milliseconds that a study may take to end after a signal. */
const SIGNAL_GRACE = 30_000;
const ALL = Object.keys(TUNE_EVENTS) as TuneEvent[];

export async function runStudy({ plan, store, warn, signal }: RunOptions): Promise<StudyEnd> {
  const { name, seed, dir, runner, objectives, budget, concurrency } = plan;
  const made = await makeModuleHooks(plan);
  const moduleHooks = made?.hooks ?? [];
  const hooks = new OuterHooks<TuneContexts>("study", [...plan.hooks, ...moduleHooks]);
  const listening = hooks.listening(...ALL);
  // Before the runner is open: after an error here, nobody would close it.
  if (dir !== undefined && store.resumed) await loadHookStates(dir, listening);
  await runner.open({
    name,
    dir,
    trial: plan.trial!,
    concurrency,
    hooks: plan.hooks,
    hookSources: plan.hookSources,
    moduleHooks,
    warn,
    fail: (error) => controller.fail(error),
  });
  const state = new OuterState(warn);
  const shared = new Shared();
  const interruptions = new Interruptions(currentPlatform(), signal, plan.signals ? SIGNAL_GRACE : undefined);
  const stopped = (): Ending | undefined => {
    if (state.stop) return { status: "stopped", ...state.stop };
    const interruption = interruptions.now();
    return interruption && { status: "interrupted", ...interruption };
  };
  const events = new StudyEvents({
    hooks,
    state,
    common: () => ({
      study: name,
      seed,
      dir,
      iteration: controller.iteration,
      shared,
      get trials() {
        return store.state.trials.map(infoOf);
      },
    }),
    wake: () => controller.wake(),
    save: () => (dir === undefined ? Promise.resolve() : saveHookStates(dir, listening)),
  });
  const isHere = runner.name === "inProcess";
  const used = made && !isHere ? made.wrap(runner, () => events.settled(), warn) : runner;
  const desk = await openDesk({ plan, store, warn });
  const controller = new Controller({ plan: { ...plan, runner: used }, store, events, stopped, warn, desk });
  events.post("tuneSetup", { objectives, budget, resumed: store.resumed });
  try {
    const running = controller.run();
    void interruptions.orSooner(running.catch(() => undefined)).then(controller.wake);
    const ending = await running.catch((error: unknown) => ({ error }));
    const failure = "error" in ending ? ending : events.failure;
    if (failure) controller.abandon("the study has failed");
    const { status, reason, requestedBy } =
      failure || "error" in ending
        ? { status: "error" as const, reason: errorOf(failure!.error).message, requestedBy: "" }
        : ending;
    await runner.close();
    events.post("experimentEnd", { status, reason });
    await events.drained();
    const fatal = failure ?? events.failure;
    const failed = fatal && { status: "error" as const, reason: errorOf(fatal.error).message };
    store.write({ type: "ended", status, reason, ...failed });
    if (fatal || status === "error") throw fatal!.error;
    interruptions.setExitCode(undefined);
    return { status, reason, requestedBy, hookErrors: state.failures };
  } finally {
    interruptions.stopListening();
  }
}

/** Imported only where there are files: a browser has none. */
async function openDesk({ plan, store, warn }: Omit<RunOptions, "signal">): Promise<StudyDesk | undefined> {
  const { dir } = plan;
  return dir === undefined ? undefined : new (await import("./study-desk.ts")).StudyDesk({ dir, plan, store, warn });
}

/** Imported only when a study names hooks by module, which a browser cannot. */
async function makeModuleHooks({ hookSources, runner }: StudyPlan): Promise<ModuleHooks | undefined> {
  if (hookSources.length === 0) return undefined;
  const { ModuleHooks: Made } = await import("./module-hooks.ts");
  const { cwd } = builtin("A hook that is named by its module", "node:process");
  return Made.make(hookSources, runner.directory ?? cwd());
}
