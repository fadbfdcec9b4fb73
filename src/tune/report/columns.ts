// What a table of trials says of each: its objectives, its parameters, and where there is something to say, how it went.
import type { TrialInfo } from "../../core/tune.types.ts";
import { numberText, valueAtPath } from "../study-table.ts";
import { stepOf, type Facts } from "./facts.ts";

export interface Column {
  readonly title: string;
  readonly kind: "number" | "text" | "long";
  text(trial: TrialInfo): string;
}

const isNumber = (text: string): boolean => text === "" || !Number.isNaN(Number(text));

export function columnsOf({ study: { space, objectives }, trials }: Facts): readonly Column[] {
  const paths = [...new Set(space.parameters.map(({ path }) => path))];
  const columns: Omit<Column, "kind">[] = [
    { title: "trial", text: ({ number }) => String(number) },
    { title: "status", text: ({ status }) => status },
    ...objectives.map(({ metric }) => ({
      title: metric,
      text: ({ result }: TrialInfo) => numberText(result?.[metric]),
    })),
    ...paths.map((path) => ({ title: path, text: (trial: TrialInfo) => valueAtPath(trial, path, space.parameters) })),
    { title: "steps", text: (trial) => numberText(stepOf(trial)) },
    { title: "attempts", text: ({ attempts }) => String(attempts) },
    { title: "why", text: ({ reason }) => reason },
  ];
  return columns
    .map((column) => {
      const texts = trials.map((trial) => column.text(trial));
      return {
        column,
        texts,
        kind: column.title === "why" ? "long" : texts.every(isNumber) ? "number" : "text",
      } as const;
    })
    .filter(({ column: { title }, texts }) =>
      title === "attempts"
        ? texts.some((text) => Number(text) > 1)
        : title !== "why" || texts.some((text) => text !== ""),
    )
    .map(({ column, kind }) => ({ ...column, kind }));
}

/** Of the best, all but how they went; where one of them ended early, that its value is no result. */
export function shortColumnsOf(facts: Facts, shown: readonly TrialInfo[]): readonly Column[] {
  const early = shown.some(({ status }) => status !== "completed");
  const left = ["attempts", "why", ...(early ? [] : ["status"])];
  return columnsOf(facts).filter(({ title }) => !left.includes(title));
}
