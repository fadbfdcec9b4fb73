// Axis, smoothing and zoom: what the charts show, kept in the address.
import type { RunRow } from "../../wire.ts";
import * as format from "../format.ts";
import { setQuery } from "../router.ts";
import { AXES, chartView, extentOf } from "./view.ts";

const UNITS: Readonly<Record<string, string>> = {
  step: "steps",
  time: "ms",
  elapsed: "s",
  epoch: "epochs",
  samples: "samples",
  tokens: "tokens",
};

export function ViewControls({ row }: { row: Pick<RunRow, "step" | "elapsed"> }) {
  const { x, smooth, range } = chartView(row);
  const most = Math.max(4, Math.ceil(Math.log2((extentOf(x, row) ?? 1024) / 4)));
  const position = smooth > 0 ? Math.max(0, Math.round(Math.log2(smooth))) + 1 : 0;
  const half =
    smooth === 0 ? "off" : x === "time" ? format.duration(smooth / 1000) : `${format.number(smooth)} ${UNITS[x]}`;
  return (
    <span class="view-controls">
      {range && (
        <button type="button" onClick={() => setQuery({ from: undefined, to: undefined })}>
          {format.number(range.from)} – {format.number(range.to)} ✕<span class="hidden"> show all</span>
        </button>
      )}
      <label>
        x{" "}
        <select
          value={x}
          onChange={(event) =>
            setQuery({ x: event.currentTarget.value, from: undefined, to: undefined, smooth: undefined })
          }
        >
          {AXES.map((axis) => (
            <option key={axis} value={axis}>
              {axis}
            </option>
          ))}
        </select>
      </label>
      <label title="Half-life of the average; the shade behind the line is what was logged">
        smooth{" "}
        <input
          type="range"
          min={0}
          max={most + 1}
          value={position}
          aria-valuetext={half}
          onInput={(event) => {
            const chosen = Number(event.currentTarget.value);
            setQuery({ smooth: chosen === 0 ? 0 : 2 ** (chosen - 1) });
          }}
        />
        <output>{half}</output>
      </label>
    </span>
  );
}
