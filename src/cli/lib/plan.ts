// What a config would train, told before anything is read: data, split, models with their parameters, hooks in their order.
import type { Json } from "../../core/json.ts";
import type { ConfigDocument } from "../../experiment/config/document.ts";
import { planModels, type PlannedModel } from "../../experiment/plan.ts";
import type { ExperimentOptions } from "../../experiment/types.ts";
import { tinyTrainer } from "../../testing/tiny.ts";
import { defineProblem } from "../../trainer/problem.ts";
import { describeParams } from "../../trainer/summary.ts";

interface Plan {
  readonly name: string;
  readonly config: string;
  readonly runDir: string;
  readonly data: Json;
  readonly split: Json;
  readonly loader: Json;
  readonly models: readonly {
    readonly name: string;
    readonly params: Readonly<Record<string, Json>>;
    /** A table; null when the model is made from the data. */
    readonly parameters: string | null;
    /** In the order in which they run, and where. */
    readonly hooks: readonly { readonly name: string; readonly stage: string; readonly events: readonly string[] }[];
  }[];
}

export function planOf(doc: ConfigDocument, options: ExperimentOptions, runDir: string): Plan {
  return {
    name: options.name ?? "experiment",
    config: doc.file,
    runDir,
    data: told(doc.raw["data"]),
    split: told(doc.raw["split"]),
    loader: told(doc.raw["loader"]),
    models: planModels(options).map((planned) => ({
      name: planned.name,
      params: planned.params,
      parameters: parametersOf(planned),
      hooks: tinyTrainer({ hooks: planned.hooks })
        .hooks.list()
        .map(({ name, stage, events }) => ({ name, stage, events })),
    })),
  };
}

/** Functions of a TypeScript config are told by their names. */
function told(value: unknown): Json {
  if (value === undefined) return null;
  const text = JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "function" ? `[${inner.name || "function"}]` : inner,
  );
  return JSON.parse(text) as Json;
}

function parametersOf({ plan: { model, loss, inputs, seed = 0 } }: PlannedModel<never>): string | null {
  if (typeof model !== "object") return null;
  const { params, state } = defineProblem(model, loss, inputs).init(seed);
  return describeParams(params, state);
}

const indent = (text: string): string => text.replaceAll(/^/gm, "    ");

export function describePlan({ name, config, runDir, models, ...rest }: Plan): string {
  const lines = [`${name}, from ${config}. It would write to ${runDir}.`];
  for (const [key, value] of Object.entries(rest))
    lines.push(`${key}: ${value === null ? "the default" : JSON.stringify(value)}`);
  for (const { name: model, params, parameters, hooks } of models) {
    lines.push("", `${model}:`);
    lines.push(
      "  hyper-parameters:",
      ...Object.entries(params).map(([key, value]) => `    ${key}: ${JSON.stringify(value)}`),
    );
    lines.push("  parameters:", indent(parameters ?? "known when the data has been read"));
    lines.push(
      "  hooks, in their order:",
      ...hooks.map((hook) => `    ${hook.name} (${hook.stage}): ${hook.events.join(", ")}`),
    );
  }
  lines.push("", "The config is valid. Nothing has been read or written.");
  return lines.join("\n");
}
