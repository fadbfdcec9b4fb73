// What a config would train: data, split, models with their parameters, batches, metrics, hooks in their order.
import type { Json } from "../../core/options.ts";
import type { ConfigDocument } from "../../experiment/config/config-tree.ts";
import { planModels } from "../../experiment/experiment-options.ts";
import type { ExperimentOptions, ModelPreflight } from "../../experiment/types.ts";
import { tinyTrainer } from "../../testing/tiny.ts";
import type { Preflight } from "../../trainer/preflight.ts";

interface Plan {
  readonly name: string;
  readonly config: string;
  readonly runDir: string;
  readonly data: Json;
  readonly split: Json;
  readonly loader: Json;
  /** Where the data is a table. */
  readonly preprocess?: {
    /** What the config says. */
    readonly config: Json;
    /** What `auto` chose, and why. */
    readonly choices: readonly string[];
    /** Names of the features in `x`. */
    readonly features: readonly string[];
  };
  readonly models: readonly {
    readonly name: string;
    readonly params: Readonly<Record<string, Json>>;
    /** A table. */
    readonly parameters: string;
    /** Shapes of the first batch of each loader, which were traced through the model. */
    readonly batches: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
    /** Metrics that hooks and schedules can watch. */
    readonly metrics: readonly string[];
    /** In the order in which they run, and where. */
    readonly hooks: readonly { readonly name: string; readonly stage: string; readonly events: readonly string[] }[];
  }[];
}

/** `found` is what the experiment's `preflight` resolves to. */
export function planOf(
  doc: ConfigDocument,
  options: ExperimentOptions,
  runDir: string,
  found: Readonly<Record<string, ModelPreflight>>,
): Plan {
  // All models are trained on the same data.
  const preprocessor = Object.values(found)[0]?.preprocessor;
  return {
    name: options.name ?? "experiment",
    config: doc.file,
    runDir,
    data: plainData(doc.raw["data"]),
    split: plainData(doc.raw["split"]),
    loader: plainData(doc.raw["loader"]),
    ...(preprocessor && {
      preprocess: {
        config: plainData(doc.raw["preprocess"]),
        choices: preprocessor.choices,
        features: preprocessor.featureNames,
      },
    }),
    models: planModels(options).map((planned) => ({
      name: planned.name,
      params: planned.params,
      parameters: found[planned.name]!.parameters,
      batches: shapesOf(found[planned.name]!),
      metrics: found[planned.name]!.metrics,
      hooks: tinyTrainer({ hooks: planned.hooks })
        .hooks.list()
        .map(({ name, stage, events }) => ({ name, stage, events })),
    })),
  };
}

/** A value of the config as plain data; functions become their names. */
function plainData(value: unknown): Json {
  if (value === undefined) return null;
  const text = JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "function" ? `[${inner.name || "function"}]` : inner,
  );
  return JSON.parse(text) as Json;
}

function shapesOf({ batches }: Preflight): Plan["models"][number]["batches"] {
  const all = Object.entries({ ...batches.train, ...batches.eval });
  return Object.fromEntries(
    all.map(([loader, batch]) => [
      loader,
      Object.fromEntries(Object.entries(batch).map(([field, { shape }]) => [field, shape])),
    ]),
  );
}

const indent = (text: string): string => text.replaceAll(/^/gm, "    ");

const describeShapes = (fields: Readonly<Record<string, readonly number[]>>): string =>
  `{ ${Object.entries(fields)
    .map(([field, shape]) => `${field}: [${shape.join(", ")}]`)
    .join(", ")} }`;

/** At most this many names in a line. */
const MOST_NAMES = 20;

function describePreprocessing({ config, choices, features }: NonNullable<Plan["preprocess"]>): string[] {
  const more = features.length > MOST_NAMES ? `, and ${features.length - MOST_NAMES} more` : "";
  return [
    `preprocess: ${JSON.stringify(config)}`,
    ...choices.map((choice) => `  ${choice}`),
    `  ${features.length} features: ${features.slice(0, MOST_NAMES).join(", ")}${more}`,
  ];
}

export function describePlan({ name, config, runDir, models, preprocess, ...rest }: Plan): string {
  const lines = [`${name}, from ${config}. It would write to ${runDir}.`];
  for (const [key, value] of Object.entries(rest))
    lines.push(`${key}: ${value === null ? "the default" : JSON.stringify(value)}`);
  if (preprocess) lines.push(...describePreprocessing(preprocess));
  for (const { name: model, params, parameters, batches, metrics, hooks } of models) {
    lines.push("", `${model}:`);
    lines.push(
      "  hyperparameters:",
      ...Object.entries(params).map(([key, value]) => `    ${key}: ${JSON.stringify(value)}`),
    );
    lines.push("  parameters:", indent(parameters));
    lines.push(
      "  first batch of each loader:",
      ...Object.entries(batches).map(([loader, fields]) => `    ${loader}: ${describeShapes(fields)}`),
    );
    lines.push("  metrics:", `    ${metrics.join(", ")}`);
    lines.push(
      "  hooks, in their order:",
      ...hooks.map((hook) => `    ${hook.name} (${hook.stage}): ${hook.events.join(", ")}`),
    );
  }
  lines.push("", "The config is valid, and the data fits the model. Nothing was trained or written.");
  return lines.join("\n");
}
