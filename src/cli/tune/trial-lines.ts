// The live table of a study's trials, as lines that fit a terminal: who runs first, then best first.
import { safeLine } from "../../core/safe-text.ts";
import { formatDuration } from "../../terminal/eta.ts";
import { formatMetric } from "../../terminal/format-number.ts";
import { sparkline } from "../../terminal/sparkline.ts";
import { paint, type Paint, type Style } from "../../terminal/style.ts";
import { layoutTable, type Table } from "../../terminal/table.ts";
import { truncate } from "../../terminal/width.ts";
import type { TrialInfo } from "../../core/outer-events.ts";
import { orderTrials, rankTrials } from "../../tune/ranking.ts";
import type { Space } from "../../tune/space/space.ts";
import { valueAtPath } from "../../tune/study-table.ts";
import type { Objective } from "../../tune/types.ts";

export interface TrialsView {
  readonly name: string;
  readonly space: Space;
  readonly objectives: readonly Objective[];
  readonly trials: readonly TrialInfo[];
  /** How many there will be, where that is known. */
  readonly total: number | undefined;
  /** Seconds of the study. */
  readonly elapsed: number;
  /** Seconds of a trial, where it was seen. */
  secondsOf(number: number): number | undefined;
}

interface Column {
  readonly head: string;
  /** Whether it is aligned to the left. */
  readonly left?: true;
  readonly cell: (trial: TrialInfo) => string;
  /** The highest is left out first when there is no room; 0 stays. */
  readonly drop: number;
}

interface Size {
  readonly columns: number;
  readonly rows: number;
}

const SPARK = 12;
const COLORS: Readonly<Record<TrialInfo["status"], keyof Paint>> = {
  running: "cyan",
  interrupted: "yellow",
  completed: "green",
  pruned: "dim",
  failed: "red",
  paused: "yellow",
  waiting: "dim",
};

export function trialLines(view: TrialsView, style: Style, size: Size): readonly string[] {
  const { trials, objectives } = view;
  const painter = paint(style.color);
  const head = [headLine(view), ...bestLine(view)].map((line) => truncate(line, size.columns, mark(style)));
  const ordered = inOrder(trials, objectives);
  // The heading of the table, and a line that says how many more there are.
  const room = size.rows - head.length - 3;
  const shown = ordered.slice(0, Math.max(0, room));
  if (shown.length === 0) return head.slice(0, Math.max(1, size.rows - 1));
  const { head: title, lines } = tableOf(columnsOf(view, style), shown, size.columns);
  const fitting = (line: string): string => truncate(line, size.columns, mark(style));
  const rows = lines
    .map(fitting)
    .map((line, i) => line.replace(shown[i]!.status, (word) => painter[COLORS[shown[i]!.status]](word)));
  const hidden = ordered.length - shown.length;
  return [...head, painter.bold(fitting(title)), ...rows, ...(hidden > 0 ? [painter.dim(`and ${hidden} more`)] : [])];
}

const mark = ({ unicode }: Style): string => (unicode ? "…" : "~");

function headLine({ name, trials, total, elapsed }: TrialsView): string {
  const count = (status: TrialInfo["status"]): number => trials.filter((trial) => trial.status === status).length;
  const states = (["running", "completed", "pruned", "failed", "interrupted", "paused"] as const).filter(
    (status) => count(status) > 0,
  );
  const ended = count("completed") + count("pruned") + count("failed");
  const all = [
    total === undefined ? `${ended} trials` : `${ended}/${total} trials`,
    ...states.map((status) => `${count(status)} ${status}`),
    formatDuration(elapsed),
  ];
  return `${safeLine(name)}: ${all.join(", ")}`;
}

function bestLine({ trials, objectives }: TrialsView): string[] {
  const [best] = rankTrials(trials, objectives);
  if (best?.status !== "completed") return [];
  const values = objectives.map(({ metric }) => `${safeLine(metric)} ${formatMetric(metric, best.result![metric]!)}`);
  return [`best so far: trial ${best.number}, ${values.join(", ")}`];
}

function inOrder(trials: readonly TrialInfo[], objectives: readonly Objective[]): readonly TrialInfo[] {
  const running = trials.filter(({ status }) => status === "running");
  return [...new Set([...running, ...orderTrials(trials, objectives)])];
}

function columnsOf({ space, objectives, secondsOf }: TrialsView, style: Style): Column[] {
  const [objective] = objectives;
  const paths = [...new Set(space.parameters.map(({ path }) => path))];
  return [
    { head: "trial", drop: 0, cell: ({ number }) => String(number) },
    { head: "status", left: true, drop: 0, cell: ({ status }) => status },
    ...shortNames(paths).map((name, i) => ({
      head: name,
      drop: 10 + i,
      cell: (trial: TrialInfo) => valueAtPath(trial, paths[i]!, space.parameters),
    })),
    { head: "step", drop: 3, cell: ({ reports }) => String(reports.at(-1)?.step ?? "") },
    ...objectives.map(({ metric }) => ({
      head: metric,
      drop: metric === objective!.metric ? 0 : 2,
      cell: ({ result }: TrialInfo) => (result?.[metric] === undefined ? "" : formatMetric(metric, result[metric])),
    })),
    ...(style.unicode
      ? [
          {
            head: "",
            left: true as const,
            drop: 20,
            cell: ({ reports }: TrialInfo) => sparkline(curve(reports, objective!.metric), SPARK),
          },
        ]
      : []),
    {
      head: "time",
      drop: 5,
      cell: ({ number }) => {
        const seconds = secondsOf(number);
        return seconds === undefined ? "" : formatDuration(seconds);
      },
    },
  ];
}

/** As many columns as there is room for. */
function tableOf(columns: readonly Column[], trials: readonly TrialInfo[], room: number): Table {
  const leaveOut = columns.filter(({ drop }) => drop > 0).sort((a, b) => b.drop - a.drop);
  return layoutTable(
    columns.map(({ head }) => head),
    trials.map((trial) => columns.map(({ cell }) => cell(trial))),
    { room, leaveOut: leaveOut.map(({ head }) => head) },
    columns.filter(({ left }) => !left).map(({ head }) => head),
  );
}

const curve = (reports: TrialInfo["reports"], metric: string): readonly number[] =>
  reports.flatMap(({ values }) => (values[metric] === undefined ? [] : [values[metric]]));

/** `lr` for `optimizer.lr`: as much of the end of a path as tells it from the others. */
export function shortNames(paths: readonly string[]): readonly string[] {
  return paths.map((path) => {
    const keys = path.split(".");
    const endings = keys.map((_, i) => keys.slice(i).join(".")).toReversed();
    const isOnly = (ending: string): boolean =>
      paths.filter((other) => other === ending || other.endsWith(`.${ending}`)).length === 1;
    return endings.find(isOnly) ?? path;
  });
}
