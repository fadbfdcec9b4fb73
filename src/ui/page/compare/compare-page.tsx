// Several runs in the same charts: their curves, or the mean and the range of groups; and where they differ.
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { RunPage, RunRow } from "../../wire.ts";
import { Chart, type Line } from "../chart/chart.tsx";
import { get } from "../data/api.ts";
import { listen } from "../data/live.ts";
import { refreshRuns, runs, runsKnown } from "../data/runs.ts";
import { seriesFeed } from "../data/series-feed.ts";
import { directoryOf } from "../list/rows.ts";
import { Empty } from "../parts/empty.tsx";
import { href, listSetting, setQuery, setting } from "../router.ts";
import { isSetting, sectionsOf } from "../run/chart-groups.ts";
import { ViewControls } from "../run/view-controls.tsx";
import { chartView, logSetting, setLogSetting } from "../run/view.ts";
import { DifferenceTable } from "./difference-table.tsx";

const FEW_CHARTS = 6;
/** Milliseconds for which answers are collected: first, and while runs go on. */
const FIRST_MS = 20;
const EVERY_MS = 2000;

export function ComparePage() {
  const ids = listSetting("runs");
  const pages = useSignal<ReadonlyMap<string, RunPage>>(new Map());
  const wanted = ids.join();
  const chosen = useComputed(() => {
    const all = new Map(runs.value.map((row) => [row.id, row]));
    return listSetting("runs").flatMap((id) => all.get(id) ?? []);
  });

  /** Answers that came at about the same time are shown together: each draws all charts again. */
  const arrived = useRef(new Map<string, RunPage>());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const asked = useRef(new Set<string>());
  useEffect(() => () => clearTimeout(timer.current), []);
  /** The names and the last values of a run. */
  const refresh = async (id: string): Promise<void> => {
    if (asked.current.has(id)) return;
    asked.current.add(id);
    try {
      arrived.current.set(id, await get<RunPage>(`runs/${id}`));
    } catch {
      // A run that is gone has no curves; the others are shown.
    }
    timer.current ??= setTimeout(
      () => {
        timer.current = undefined;
        for (const each of arrived.current.keys()) asked.current.delete(each);
        pages.value = new Map([...pages.peek(), ...arrived.current]);
        arrived.current.clear();
      },
      pages.peek().has(id) ? EVERY_MS : FIRST_MS,
    );
  };

  useEffect(() => {
    document.title = "Compare · hookline";
    return listen({
      runs: ids,
      runsChanged: () => void refreshRuns(),
      runChanged: ({ id, records }) => {
        seriesFeed.ring(id);
        const known = pages.peek().get(id);
        if (known && known.records !== records) void refresh(id);
      },
      catchUp: () => {
        void refreshRuns();
        for (const id of ids) seriesFeed.ring(id);
      },
    });
  }, [wanted]);
  useEffect(() => {
    for (const id of ids) if (!pages.peek().has(id)) void refresh(id);
  }, [wanted]);

  if (ids.length === 0 || (runsKnown.value && chosen.value.length === 0))
    return (
      <div class="page">
        <h1>Compare</h1>
        <Empty title="No runs are selected.">
          <p>
            Select some in the <a href={href([])}>list of runs</a> (key x), then “Compare” (key c).
          </p>
        </Empty>
      </div>
    );
  return <Comparison rows={chosen.value} pages={pages.value} />;
}

function Comparison({ rows, pages }: { rows: readonly RunRow[]; pages: ReadonlyMap<string, RunPage> }) {
  const names = [...new Set([...pages.values()].flatMap((page) => page.names))];
  const furthest = rows.reduce((best, row) => (row.step > best.step ? row : best), rows[0] ?? { step: 0, elapsed: 0 });
  const view = chartView(furthest);
  const base = setting("base");
  const by = setting("group");
  const all = useSignal(false);
  const metrics = sectionsOf(names).flatMap(({ charts, folded }) =>
    charts
      .flatMap((chart) => chart.names)
      .filter((name) => !name.startsWith("train/") || !names.includes(name.slice("train/".length)))
      .map((name) => ({ name, folded })),
  );
  const first = metrics.filter(({ folded }) => !folded).slice(0, FEW_CHARTS);
  const shown = (all.value ? metrics : first).map(({ name }) => name);
  const short = shortNames(rows.map(({ name }) => name));
  const lines = (name: string): Line[] =>
    rows.map((row, i) => ({
      run: row.id,
      name,
      label: short[i]!,
      color: i,
      plain: isSetting(name),
      group: groupOf(row, by),
    }));
  return (
    <div class="page compare">
      <div class="bar">
        <h1>Compare</h1>
        <label>
          relative to
          <select value={base ?? ""} onChange={(event) => setQuery({ base: event.currentTarget.value })}>
            <option value="">none</option>
            {rows.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          group
          <select value={by ?? ""} onChange={(event) => setQuery({ group: event.currentTarget.value })}>
            <option value="">none</option>
            <option value="directory">directory</option>
            {[...new Set(rows.flatMap(({ hparams }) => Object.keys(hparams)))].map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <ViewControls row={furthest} />
      </div>
      <div class="grid">
        {shown.map((name) => (
          <Chart
            key={name}
            title={name}
            lines={lines(name)}
            marks={[]}
            view={view}
            height={260}
            log={logSetting(name)}
            setLog={(log) => setLogSetting(name, log)}
            base={base}
          />
        ))}
      </div>
      {shown.length < metrics.length && (
        <p>
          <button type="button" onClick={() => (all.value = true)}>
            Show all metrics
          </button>
        </p>
      )}
      <DifferenceTable rows={rows} pages={pages} base={base} />
    </div>
  );
}

const groupOf = (row: RunRow, by: string | undefined): string | undefined =>
  by === undefined
    ? undefined
    : by === "directory"
      ? directoryOf(row.name)
      : `${by} = ${String(row.hparams[by] ?? "–")}`;

/** Names without the directories that all of them share. */
function shortNames(names: readonly string[]): string[] {
  const parts = names.map((name) => name.split("/"));
  let shared = 0;
  while (parts.length > 1 && parts.every((each) => each.length > shared + 1 && each[shared] === parts[0]![shared]))
    shared++;
  return parts.map((each) => each.slice(shared).join("/"));
}
