// What the charts of a run show, read from the address: axis, range, smoothing, scales.
import type { Axis, RunRow } from "../../wire.ts";
import type { ChartView } from "../chart/chart.tsx";
import { listSetting, numberSetting, setQuery, setting } from "../router.ts";

export const AXES: readonly Axis[] = ["step", "epoch", "time", "elapsed", "samples", "tokens"];

const axisSetting = (): Axis => AXES.find((axis) => axis === setting("x")) ?? "step";

/** How far a run has come, in units of the axis; undefined where that is not known. */
export function extentOf(axis: Axis, row: Pick<RunRow, "step" | "elapsed">): number | undefined {
  switch (axis) {
    case "step":
      return row.step;
    case "elapsed":
      return row.elapsed;
    case "time":
      return row.elapsed * 1000;
    default:
      return undefined;
  }
}

/** A power of two, so that it changes rarely while the run grows: every other value would fetch all curves again. */
function defaultSmooth(axis: Axis, row: Pick<RunRow, "step" | "elapsed">): number {
  const extent = extentOf(axis, row);
  if (extent === undefined || row.step < 200) return 0;
  return 2 ** Math.max(0, Math.floor(Math.log2(extent / 64)));
}

export function chartView(row: Pick<RunRow, "step" | "elapsed">): ChartView {
  const x = axisSetting();
  const from = numberSetting("from");
  const to = numberSetting("to");
  const usual = defaultSmooth(x, row);
  const smooth = numberSetting("smooth") ?? usual;
  return {
    x,
    smooth,
    range: from !== undefined && to !== undefined && to > from ? { from, to } : undefined,
    setRange: (range) => setQuery({ from: range && round(range.from), to: range && round(range.to) }),
    toggleSmooth: () => setQuery({ smooth: smooth > 0 ? 0 : undefined }),
  };
}

const round = (value: number): number => Number(value.toPrecision(8));

/** `log=loss,lr` and `linear=val/loss`: what someone has chosen; undefined: by the values. */
export const logSetting = (title: string): boolean | undefined =>
  listSetting("log").includes(title) ? true : listSetting("linear").includes(title) ? false : undefined;

export function setLogSetting(title: string, log: boolean): void {
  const without = (name: string): string[] => listSetting(name).filter((each) => each !== title);
  const [chosen, other] = log ? (["log", "linear"] as const) : (["linear", "log"] as const);
  setQuery({ [chosen]: [...without(chosen), title].join(","), [other]: without(other).join(",") });
}
