// The live table of a study's trials, as lines that fit a terminal: who runs first, then best first.
import { safeLine } from "../../core/safe-text.ts";
import { formatDuration } from "../../terminal/eta.ts";
import { formatMetric } from "../../terminal/format-number.ts";
import { sparkline } from "../../terminal/sparkline.ts";
import { paint, type Paint, type Style } from "../../terminal/paint.ts";
import { textWidth, truncate } from "../../terminal/width.ts";
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
  readonly right: boolean;
  readonly cells: readonly string[];
  /** The first to go where there is no room; 0 never goes. */
  readonly drop: number;
}

interface Size {
  readonly columns: number;
  readonly rows: number;
}

const SPARK = 12;
const GAP = "  ";
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
  const [title, ...lines] = table(columnsOf(view, shown, style), size.columns).map((line) =>
    truncate(line, size.columns, mark(style)),
  );
  const rows = lines.map((line, i) =>
    line.replace(shown[i]!.status, (word) => painter[COLORS[shown[i]!.status]](word)),
  );
  const hidden = ordered.length - shown.length;
  return [...head, painter.bold(title!), ...rows, ...(hidden > 0 ? [painter.dim(`and ${hidden} more`)] : [])];
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

function columnsOf({ space, objectives, secondsOf }: TrialsView, shown: readonly TrialInfo[], style: Style): Column[] {
  const [objective] = objectives;
  const paths = [...new Set(space.parameters.map(({ path }) => path))];
  const column = (head: string, drop: number, cell: (trial: TrialInfo) => string, right = true): Column => ({
    head: safeLine(head),
    right,
    drop,
    cells: shown.map((trial) => safeLine(cell(trial))),
  });
  return [
    column("trial", 0, ({ number }) => String(number)),
    column("status", 0, ({ status }) => status, false),
    ...shortNames(paths).map((name, i) =>
      column(name, 10 + i, (trial) => valueAtPath(trial, paths[i]!, space.parameters)),
    ),
    column("step", 3, ({ reports }) => String(reports.at(-1)?.step ?? "")),
    ...objectives.map(({ metric }) =>
      column(metric, metric === objective!.metric ? 0 : 2, ({ result }) => {
        const value = result?.[metric];
        return value === undefined ? "" : formatMetric(metric, value);
      }),
    ),
    ...(style.unicode
      ? [column("", 20, ({ reports }) => sparkline(curve(reports, objective!.metric), SPARK), false)]
      : []),
    column("time", 5, ({ number }) => {
      const seconds = secondsOf(number);
      return seconds === undefined ? "" : formatDuration(seconds);
    }),
  ];
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

const widthOf = ({ head, cells }: Column): number => Math.max(...[head, ...cells].map(textWidth));

/** Lines of the columns that there is room for; those that say least go first. */
function table(columns: readonly Column[], room: number): string[] {
  let kept = columns;
  const total = (): number => kept.reduce((sum, one) => sum + widthOf(one) + GAP.length, -GAP.length);
  while (total() > room) {
    const most = Math.max(...kept.map(({ drop }) => drop));
    if (most === 0) break;
    kept = kept.filter(({ drop }) => drop !== most);
  }
  const line = (cell: (column: Column) => string): string =>
    kept
      .map((column) => {
        const text = cell(column);
        const filling = " ".repeat(widthOf(column) - textWidth(text));
        return column.right ? filling + text : text + filling;
      })
      .join(GAP)
      .trimEnd();
  return [line(({ head }) => head), ...columns[0]!.cells.map((_, i) => line(({ cells }) => cells[i]!))];
}
