// Writes what is made from tables of the code: pages of docs/, and the JSON Schema of a config. Run it with `npm run docs`.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { COMMON_FIELDS } from "../src/core/common-fields.ts";
import { fieldsOf } from "../src/core/context.ts";
import { BUILTIN_EVENTS, EVENTS, methodOf, type EventLevel } from "../src/core/events.ts";
import { PIPELINE_EVENTS, TUNE_EVENTS } from "../src/core/outer-events.ts";
import { comingFromPage } from "./lib/coming-from-page.ts";
import { componentsPage } from "./lib/components-page.ts";
import { configSchema } from "./lib/config-schema.ts";
import { optionsPage } from "./lib/options-page.ts";
import { sweepSchema } from "./lib/sweep-schema.ts";
import { SKIP_SCOPES, VERBS, type SkipScope, type VerbName } from "../src/core/verbs.ts";

const code = (text: string): string => `\`${text}\``;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** The drawing of the loop in the header of events.ts: the indented part of its first comment. */
export function loopDrawing(): string {
  const source = readFileSync(new URL("../src/core/events.ts", import.meta.url), "utf8");
  const header = source.slice(0, source.search(/^(?!\/\/)/m)).split("\n");
  const drawing = header.filter((line) => line.startsWith("//   ")).map((line) => line.slice("//   ".length));
  if (drawing.length === 0) throw new Error("The header of src/core/events.ts has no drawing of the loop.");
  return drawing.join("\n");
}

function eventsPage(): string {
  const levels = [...new Set<EventLevel>(BUILTIN_EVENTS.map((event) => EVENTS[event].level))];
  const rowsOf = (events: Readonly<Record<string, { readonly when: string; readonly fields: readonly string[] }>>) =>
    Object.entries(events).map(([event, { when, fields }]) => [
      code(event),
      code(methodOf(event)),
      when,
      fields.map(code).join(" "),
    ]);
  const sections = levels.map((level) => {
    const rows = BUILTIN_EVENTS.filter((event) => EVENTS[event].level === level).map((event) => {
      return [code(event), code(methodOf(event)), EVENTS[event].when, fieldsOf(event).map(code).join(" ")];
    });
    return `## ${level.charAt(0).toUpperCase()}${level.slice(1)}\n\n${table(["event", "method", "fires", "own fields"], rows)}`;
  });
  return `# Events

Every event of a run, and where the loop fires it. A hook listens to an event with the method of its name. Besides an event's own fields its context always has ${COMMON_FIELDS.map(code).join(", ")} and \`log()\`; reading another field throws and says where it is. This page is made from \`src/core/events.ts\` and the fields in \`src/core/context.ts\` by \`npm run docs\`.

\`[x]\`: only when due; ×: repeated.

\`\`\`text
${loopDrawing()}
\`\`\`

${sections.join("\n\n")}

## Pipeline

Fired by an [experiment](experiments.md) around the trainings of its models, to the same hooks; a trainer alone has none of them. Their context is another one: besides an event's own fields it has \`experiment\`, \`seed\`, \`runDir\`, \`shared\` and \`stop(reason)\`, and nothing of the loop.

\`\`\`text
dataRead → datasetCreated → for each model: ( [each fold: init … trainEnd → close → its evaluation]
  → init … trainEnd → close → trainingComplete → [init → evalBegin … evalEnd → close] → evaluationComplete )
\`\`\`

${table(["event", "method", "fires", "own fields"], rowsOf(PIPELINE_EVENTS))}

## Tune

Fired by a [study](tune.md) around its trials, to the hooks of the study. Their context is another one too: besides an event's own fields it has \`study\`, \`seed\`, \`dir\`, \`iteration\`, \`trials\`, \`shared\` and \`stop(reason)\`.

\`\`\`text
tuneSetup → ( tuneStepBegin → [trials start] → [one of them is heard] → tuneStepEnd ) × → experimentEnd
a trial: trialStart → [trialRestore] → ( trialResult | trialCheckpoint → trialSave ) ×
  → trialComplete | trialError | trialRecover, and again from trialStart
\`\`\`

${table(["event", "method", "fires", "own fields"], rowsOf(TUNE_EVENTS))}
`;
}

function verbsPage(): string {
  const verbs = Object.keys(VERBS) as VerbName[];
  const scopes = Object.keys(SKIP_SCOPES) as SkipScope[];
  const has = (events: readonly string[], event: string): string => (events.includes(event) ? "●" : "");
  const skips = (event: string): string =>
    scopes.filter((scope) => (SKIP_SCOPES[scope] as readonly string[]).includes(event)).join(", ");
  const matrix = BUILTIN_EVENTS.map((event) => [
    code(event),
    ...verbs.map((verb) => (verb === "skip" ? skips(event) : has(VERBS[verb].events, event))),
  ]);
  return `# Verbs

Hooks change a run only through the verbs of their context, so every change is recorded in the run's result with the hook, the event, the step and the reason. This table says which verb is valid in which event; elsewhere it is a compile error, and at run time an error that says where it works. Custom events allow what \`stepEnd\` allows. This page is made from \`src/core/verbs.ts\` by \`npm run docs\`.

${table(
  ["verb", "what it does"],
  verbs.map((verb) => [code(`ctx.${verb}`), VERBS[verb].does]),
)}

## Where they are valid

For \`skip\` the cell names the scopes that can still be skipped.

${table(["event", ...verbs.map(code)], matrix)}
`;
}

/** All of it by path, as it should be. */
export const generated = async (): Promise<Record<string, string>> => ({
  "docs/events.md": eventsPage(),
  "docs/verbs.md": verbsPage(),
  "docs/trainer-options.md": optionsPage(),
  "docs/components.md": await componentsPage(),
  "docs/coming-from/README.md": comingFromPage(),
  "schema/hookline.schema.json": `${JSON.stringify(await configSchema(), undefined, 1)}\n`,
  "schema/hookline-sweep.schema.json": `${JSON.stringify(await sweepSchema(), undefined, 1)}\n`,
});

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  for (const [file, text] of Object.entries(await generated()))
    writeFileSync(new URL(`../${file}`, import.meta.url), text);
}
