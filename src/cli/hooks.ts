// hookline hooks: events and built-in hooks as tables, or the order of a config's hooks at each event.
import { EVENTS, hookEvents, methodOf, type EventName } from "../core/events.ts";
import { OUTER_EVENTS } from "../core/outer-events.ts";
import { didYouMean } from "../core/names.ts";
import { UsageError } from "./lib/exit.ts";
import { typed } from "./lib/hints.ts";
import { builtinHooks } from "./lib/hook-list.ts";
import { print, printJson } from "./lib/output.ts";
import { table } from "./lib/table.ts";

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
  const { hooksOf } = await import("./lib/hooks-of.ts");
  const models = await hooksOf(config, set);
  if (json) return printJson(models.map(({ model, registry }) => ({ model, hooks: registry.list() })));
  const blocks = models.map(({ model, registry }) => {
    const text = registry.explain(event as EventName | undefined) || "no hooks";
    return models.length > 1 ? `# ${model}\n${text}` : text;
  });
  print(blocks.join("\n\n"));
}
