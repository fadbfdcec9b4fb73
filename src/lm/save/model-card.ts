// README.md of a saved model: what it is of, how it was trained, and what came of it.
import type { Json } from "../../core/options.ts";
import type { LoraConfig } from "../model/lora.ts";

/** What a model card says besides what saving knows itself. */
export interface CardOptions {
  /** The base's name, such as `HuggingFaceTB/SmolLM2-135M`. Default: its path. */
  readonly baseModel?: string;
  /** What it was trained on, in a sentence or two. */
  readonly data?: string;
  /** How it was trained, by name. */
  readonly settings?: Readonly<Record<string, Json>>;
  /** Metrics by name. */
  readonly results?: Readonly<Record<string, number>>;
}

export function modelCard(
  { baseModel, data, settings = {}, results = {} }: CardOptions,
  kind: "adapter" | "merged" | "full",
  adapter: LoraConfig | undefined,
): string {
  const front = [
    "---",
    ...(baseModel === undefined ? [] : [`base_model: ${JSON.stringify(baseModel)}`]),
    `library_name: ${kind === "adapter" ? "peft" : "transformers"}`,
    "pipeline_tag: text-generation",
    `tags: [hookline${adapter ? ", lora" : ""}]`,
    "---",
  ];
  const what = {
    adapter: `A LoRA adapter of ${baseModel ?? "a model"}.`,
    merged: `${baseModel ?? "A model"} with a LoRA adapter merged into its weights.`,
    full: baseModel === undefined ? "A language model." : `${baseModel}, fine-tuned.`,
  }[kind];
  const lora = adapter && {
    rank: adapter.rank,
    alpha: adapter.alpha,
    rslora: adapter.rslora,
    dora: adapter.dora,
    dropout: adapter.dropout,
    targets: adapter.targets,
    ...(adapter.layers && { layers: adapter.layers }),
    ...(adapter.also.length > 0 && { also: adapter.also }),
  };
  const parts = [
    ...front,
    "",
    "# Model card",
    "",
    `${what} Trained with hookline.`,
    ...section("Data", data),
    ...section("Settings", table({ ...lora, ...settings })),
    ...section("Results", table(results)),
  ];
  return `${parts.join("\n")}\n`;
}

const section = (title: string, body: string | undefined): string[] => (body ? ["", `## ${title}`, "", body] : []);

function table(rows: Readonly<Record<string, unknown>>): string | undefined {
  const lines = Object.entries(rows).map(([name, value]) => `| ${cell(name)} | ${cell(value)} |`);
  return lines.length === 0 ? undefined : ["| | |", "|---|---|", ...lines].join("\n");
}

const cell = (value: unknown): string =>
  (typeof value === "string" ? value : JSON.stringify(value)).replaceAll("|", "\\|").replaceAll(/\s+/g, " ");
