// Which metrics share a chart, and which charts a section.
import type { Line } from "../chart/chart.tsx";

export interface ChartGroup {
  readonly title: string;
  readonly names: readonly string[];
}

export interface Section {
  readonly title: string;
  /** Folded until someone opens it. */
  readonly folded: boolean;
  readonly charts: readonly ChartGroup[];
}

/** The same metric of other data belongs into the same chart. */
const SPLITS = ["train", "val", "test"];
const FOLDED = new Set(["perf", "grad", "weight", "act", "data", "system", "hooks"]);
/** An average of what was set would show what never was. */
const SETTINGS = new Set(["lr", "epoch"]);
export const isSetting = (name: string): boolean => SETTINGS.has(name);
const FIRST = ["loss", "accuracy", "lr", "gradNorm"];

const baseOf = (name: string): string => {
  const [prefix = "", ...rest] = name.split("/");
  return SPLITS.includes(prefix) && rest.length > 0 ? rest.join("/") : name;
};

const splitOrder = (name: string): number => SPLITS.indexOf(name.split("/")[0]!) + 1;

const firstOrder = (title: string): number => (FIRST.includes(title) ? FIRST.indexOf(title) : FIRST.length);

/** `loss`, `val/loss` and `train/loss` are one chart; `perf/…` and `grad/…` are sections of their own. */
export function sectionsOf(names: readonly string[]): Section[] {
  const charts = new Map<string, string[]>();
  for (const name of names) charts.set(baseOf(name), [...(charts.get(baseOf(name)) ?? []), name]);
  const sections = new Map<string, ChartGroup[]>();
  for (const [title, members] of charts) {
    const section = title.includes("/") ? title.split("/")[0]! : "";
    const group = { title, names: members.sort((a, b) => splitOrder(a) - splitOrder(b)) };
    sections.set(section, [...(sections.get(section) ?? []), group]);
  }
  return [...sections]
    .map(([title, groups]) => ({
      title,
      folded: FOLDED.has(title),
      charts: groups.sort(
        (a, b) => firstOrder(a.title) - firstOrder(b.title) || a.title.localeCompare(b.title, "en", { numeric: true }),
      ),
    }))
    .sort((a, b) => Number(a.folded) - Number(b.folded) || a.title.localeCompare(b.title));
}

/** The metric that says where the run was evaluated: the loss of its first evaluation data. */
export const evaluationOf = (names: readonly string[]): string | undefined =>
  ["val/loss", ...names].find((name) => names.includes(name) && /^(?!train\/)[^/]+\/loss$/.test(name));

/** The colour of a line tells which data it is of: the same in every chart. */
const colorOf = (name: string): number => Math.max(0, ["", "val", "train", "test"].indexOf(name.split("/")[0]!));

/** The chart's title says the rest. */
const labelOf = (name: string): string => (baseOf(name) === name ? name : name.split("/")[0]!);

/** `train/loss` is the average of `loss` over an epoch: beside it, it is shown only on demand. */
export const linesOf = (run: string, names: readonly string[]): Line[] =>
  names.map((name) => ({
    run,
    name,
    label: labelOf(name),
    color: colorOf(name),
    plain: isSetting(name),
    off: name.startsWith("train/") && names.includes(name.slice("train/".length)),
  }));
