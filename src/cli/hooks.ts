// hookline hooks: events and built-in hooks as tables, or the order of a config's hooks at each event.
import { EVENTS, hookEvents, methodOf, type EventName } from "../core/events.ts";
import { OUTER_EVENTS } from "../core/outer-events.ts";
import { didYouMean } from "../core/names.ts";
import { UsageError } from "./errors.ts";
import { print, printJson, typed } from "./output.ts";
import { table } from "./table.ts";
import { readFileSync } from "node:fs";
import { packageUrl } from "./package.ts";
import type { HookRegistry } from "../core/registry/registry.ts";
import { type CommandDescription, jsonFlag, setFlag } from "./command.ts";

export const command: CommandDescription = {
  examples: `hooks
hooks --explain hookline.yaml
hooks --explain hookline.yaml --event stepEnd`,
  flags: (program) =>
    program
      .option("--explain <config>", "the order of a config's hooks at each event; nothing is run, and no data is read")
      .option("--event <name>", "with --explain: this event only")
      .addOption(setFlag())
      .addOption(jsonFlag()),
};

interface Flags {
  readonly explain?: string;
  readonly event?: string;
  readonly set?: readonly string[];
  readonly json?: boolean;
}

export async function run(flags: Flags): Promise<void> {
  if (flags.explain !== undefined) return explain(flags.explain, flags);
  if (flags.event !== undefined) throw new UsageError("--event goes with --explain: give a config.");
  const events = Object.entries({ ...EVENTS, ...OUTER_EVENTS });
  if (flags.json) {
    return printJson({
      events: events.map(([event, info]) => ({ event, method: methodOf(event), ...info })),
      hooks: builtinHooks(),
    });
  }
  const plain = (text: string): string => text.replaceAll("`", "");
  const eventRows = events.map(([event, { level, when }]) => [event, methodOf(event), level, plain(when)]);
  print(`${table(["event", "method", "level", "when"], eventRows)}\n`);
  const hookRows = builtinHooks().map(({ use, what }) => [use, plain(what)]);
  print(table(["built-in hook", "what it does"], hookRows));
}

async function explain(config: string, { event, set = [], json }: Flags): Promise<void> {
  const events = hookEvents();
  if (event !== undefined && !events.includes(event))
    throw new UsageError(
      `There is no event \`${event}\`.${didYouMean(event, events)} \`${typed("hooks")}\` lists them.`,
    );
  const models = await hooksOf(config, set);
  if (json) return printJson(models.map(({ model, registry }) => ({ model, hooks: registry.list() })));
  const blocks = models.map(({ model, registry }) => {
    const text = registry.explain(event as EventName | undefined) || "no hooks";
    return models.length > 1 ? `# ${model}\n${text}` : text;
  });
  print(blocks.join("\n\n"));
}

interface BuiltinHook {
  /** Its name in a config. */
  readonly use: string;
  readonly what: string;
}

interface Schema {
  readonly $defs: Readonly<Record<string, { readonly title?: string }>>;
}

/** The built-in hooks with their titles in the JSON Schema. */
export function builtinHooks(): BuiltinHook[] {
  const { $defs } = JSON.parse(readFileSync(new URL("schema/hookline.schema.json", packageUrl), "utf8")) as Schema;
  return Object.entries($defs).flatMap(([name, { title = "" }]) =>
    name.startsWith("hook.") ? [{ use: name.slice("hook.".length), what: title }] : [],
  );
}

interface HooksOfModel {
  readonly model: string;
  readonly registry: HookRegistry;
}

/** The hooks of a config, registered as a trainer would register them, without its data and its model. */
async function hooksOf(config: string, set: readonly string[]): Promise<HooksOfModel[]> {
  // Lists of events and hooks need none of this.
  const [{ buildExperiment }, { readConfig }, { planModels }, { tinyTrainer }] = await Promise.all([
    import("../experiment/build/build-experiment.ts"),
    import("../experiment/config/read-config.ts"),
    import("../experiment/experiment-options.ts"),
    import("../testing/tiny.ts"),
  ]);
  const options = await buildExperiment(await readConfig(config, { set }));
  return planModels(options).map(({ name, hooks }) => ({ model: name, registry: tinyTrainer({ hooks }).hooks }));
}
