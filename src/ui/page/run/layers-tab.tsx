// A heat map of parameters over steps: where gradients vanish or explode, at a glance.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { HeatRequest } from "../../wire.ts";
import { decodeSeries } from "../../series.ts";
import { Chart } from "../chart/chart.tsx";
import { heatMap, paintHeat, type HeatMap } from "../chart/heat.ts";
import { explain, postForBytes } from "../data/api.ts";
import * as format from "../format.ts";
import { Empty, ErrorNote } from "../parts/empty.tsx";
import { setQuery, setting } from "../router.ts";
import { evaluationOf } from "./chart-groups.ts";
import type { TabProps } from "./run-page.tsx";
import { chartView, logSetting, setLogSetting } from "./view.ts";

/** What `gradientMonitor` and its relatives log, one curve for each parameter. */
const KINDS: readonly (readonly [match: string, title: string])[] = [
  ["grad/norm/*", "gradient norm"],
  ["weight/update/*", "update of the weights"],
  ["weight/norm/*", "weight norm"],
  ["act/std/*", "deviation of the activations"],
];
const PX = 600;
const EVERY = 2000;

const has = (names: readonly string[], match: string): boolean =>
  names.some((name) => name.startsWith(match.slice(0, -1)));

export function LayersTab({ run, page, marks }: TabProps) {
  const kinds = KINDS.filter(([match]) => has(page.names, match));
  const [match, title] = kinds.find(([each]) => each === setting("kind")) ?? kinds[0] ?? [];
  const heat = useSignal<HeatMap | null>(null);
  const error = useSignal<string | null>(null);
  useHeat(run.id, match, heat, error, run.now.value?.step);
  if (match === undefined)
    return (
      <Empty title="No values of single layers." line="hooks: [gradientMonitor({ every: 100 })]">
        <p>A hook measures the gradients of every parameter:</p>
      </Empty>
    );
  const byValue = setting("order") === "value";
  const chosen = setting("row");
  const prefix = match.slice(0, -1);
  const rows = heat.value && (byValue ? [...heat.value.rows].sort((a, b) => b.last - a.last) : heat.value.rows);
  return (
    <>
      <div class="bar">
        <label>
          shows
          <select value={match} onChange={(event) => setQuery({ kind: event.currentTarget.value, row: undefined })}>
            {kinds.map(([each, name]) => (
              <option key={each} value={each}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          rows
          <select
            value={byValue ? "value" : "model"}
            onChange={(event) => setQuery({ order: event.currentTarget.value === "value" ? "value" : undefined })}
          >
            <option value="model">as in the model</option>
            <option value="value">largest first</option>
          </select>
        </label>
        {heat.value && (
          <span class="scale soft">
            {format.number(heat.value.min)} <i class="cividis" aria-hidden="true" /> {format.number(heat.value.max)},
            logarithmic
          </span>
        )}
      </div>
      {error.value !== null && <ErrorNote message={error.value} />}
      {heat.value && rows && (
        <HeatFigure
          heat={{ ...heat.value, rows }}
          title={`${title} of each parameter over steps`}
          prefix={prefix}
          chosen={chosen}
          choose={(row) => setQuery({ row })}
        />
      )}
      {chosen !== undefined && page.names.includes(chosen) && (
        <section class="block">
          <Chart
            key={chosen}
            title={chosen}
            lines={[{ run: run.id, name: chosen, label: chosen, color: 0 }]}
            marks={marks}
            evaluations={evaluationOf(page.names)}
            view={chartView(page.row)}
            height={220}
            log={logSetting(chosen)}
            setLog={(log) => setLogSetting(chosen, log)}
          />
        </section>
      )}
    </>
  );
}

/** Asks again while the run goes forward, but not more often than a person would notice. */
function useHeat(
  run: string,
  match: string | undefined,
  heat: Signal<HeatMap | null>,
  error: Signal<string | null>,
  step: number | undefined,
): void {
  const askedAt = useRef(-Infinity);
  const askedFor = useRef("");
  useEffect(() => {
    if (match === undefined) return undefined;
    const load = async (): Promise<void> => {
      askedAt.current = performance.now();
      askedFor.current = match;
      const request: HeatRequest = { run, match, px: PX };
      try {
        heat.value = heatMap(decodeSeries(await postForBytes("heat", request)));
        error.value = null;
      } catch (problem) {
        error.value = explain(problem);
      }
    };
    const wait = askedFor.current === match ? Math.max(0, askedAt.current + EVERY - performance.now()) : 0;
    const timer = setTimeout(() => void load(), wait);
    return () => clearTimeout(timer);
  }, [run, match, step]);
}

interface FigureProps {
  readonly heat: HeatMap;
  readonly title: string;
  readonly prefix: string;
  readonly chosen: string | undefined;
  readonly choose: (row: string) => void;
}

function HeatFigure({ heat, title, prefix, chosen, choose }: FigureProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const tip = useSignal("");
  useEffect(() => paintHeat(canvas.current!, heat), [heat.rows.map(({ name }) => name).join("\n"), heat.steps]);
  const point = (event: MouseEvent): void => {
    const { width, height } = canvas.current!.getBoundingClientRect();
    const row = heat.rows[Math.floor((event.offsetY / height) * heat.rows.length)];
    const column = Math.floor((event.offsetX / width) * heat.steps.length);
    if (row)
      tip.value = `${row.name}, step ${format.integer(heat.steps[column] ?? 0)}: ${format.number(row.values[column])}`;
  };
  return (
    <figure class="heat" aria-label={title}>
      <ol class="heat-names">
        {heat.rows.map(({ name, last }) => (
          <li key={name}>
            <button
              type="button"
              class="link"
              aria-pressed={chosen === name}
              onClick={() => choose(name)}
              title={`${name}: ${format.number(last)}`}
            >
              {name.slice(prefix.length)}
              <span class="hidden">, last {format.number(last)}</span>
            </button>
          </li>
        ))}
      </ol>
      <div class="heat-canvas">
        <canvas
          ref={canvas}
          aria-hidden="true"
          style={{ height: `${24 * heat.rows.length}px` }}
          onMouseMove={point}
          onMouseLeave={() => (tip.value = "")}
        />
        <p class="soft heat-axis">
          <span>{format.integer(heat.steps[0] ?? 0)}</span>
          <span>{tip.value}</span>
          <span>step {format.integer(heat.steps.at(-1) ?? 0)}</span>
        </p>
      </div>
    </figure>
  );
}
