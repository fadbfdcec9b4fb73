// The curves of a run, with what was done to it beside them.
import { useSignal } from "@preact/signals";
import { Chart, type ChartView } from "../chart/chart.tsx";
import type { Mark } from "../chart/marks.ts";
import { Empty } from "../parts/empty.tsx";
import { listSetting, setQuery } from "../router.ts";
import { evaluationOf, linesOf, sectionsOf, type ChartGroup } from "./chart-groups.ts";
import { HookCost } from "./hook-cost.tsx";
import { InterventionList } from "./interventions-tab.tsx";
import type { TabProps } from "./run-page.tsx";
import { chartView, logSetting, setLogSetting } from "./view.ts";

const MAIN_HEIGHT = 320;
const OTHER_HEIGHT = 190;
const LISTED = 7;

export function ChartsTab({ run, page, marks }: TabProps) {
  const view = chartView(page.row);
  const sections = sectionsOf(page.names);
  const shared = { run: run.id, marks, evaluations: evaluationOf(page.names), view };
  const opened = listSetting("open");
  if (page.names.length === 0) return <NoRecords page={page} run={run} marks={marks} />;
  const toggle = (title: string): void =>
    setQuery({
      open: (opened.includes(title) ? opened.filter((each) => each !== title) : [...opened, title]).join(","),
    });
  const changes = marks.filter(
    ({ kind }) => kind === "hand" || kind === "hook" || kind === "refused" || kind === "note",
  );
  return (
    <div class="charts-tab">
      <div class="charts">
        {sections.map(({ title, folded, charts }, i) =>
          title === "" || !folded ? (
            <ChartGrid key={title} charts={charts} first={i === 0} {...shared} />
          ) : (
            <section key={title} class="folded">
              <h2>
                <button type="button" class="fold" aria-expanded={opened.includes(title)} onClick={() => toggle(title)}>
                  {title}/ <span class="soft">{charts.length}</span>
                </button>
              </h2>
              {opened.includes(title) && <ChartGrid charts={charts} first={false} {...shared} />}
            </section>
          ),
        )}
      </div>
      <aside>
        <h2>Interventions</h2>
        {changes.length === 0 ? (
          <p class="soft">None so far.</p>
        ) : (
          <InterventionList marks={changes.slice(-LISTED).toReversed()} />
        )}
        <h2>Hook cost</h2>
        <HookCost page={page} />
      </aside>
    </div>
  );
}

interface GridProps {
  readonly charts: readonly ChartGroup[];
  /** The first chart of the first section is the large one. */
  readonly first: boolean;
  readonly run: string;
  readonly marks: readonly Mark[];
  readonly evaluations: string | undefined;
  readonly view: ChartView;
}

const FEW = 24;

function ChartGrid({ charts, first, run, marks, evaluations, view }: GridProps) {
  const all = useSignal(false);
  const shown = all.value ? charts : charts.slice(0, FEW);
  return (
    <>
      <div class="grid">
        {shown.map(({ title, names }, i) => (
          <div key={title} class={first && i === 0 ? "main-chart" : undefined}>
            <Chart
              title={title}
              lines={linesOf(run, names)}
              marks={marks}
              evaluations={evaluations}
              view={view}
              height={first && i === 0 ? MAIN_HEIGHT : OTHER_HEIGHT}
              log={logSetting(title)}
              setLog={(log) => setLogSetting(title, log)}
            />
          </div>
        ))}
      </div>
      {shown.length < charts.length && (
        <button type="button" onClick={() => (all.value = true)}>
          Show all {charts.length}
        </button>
      )}
    </>
  );
}

function NoRecords({ page }: TabProps) {
  if (page.row.state === "starting" || page.row.state === "running")
    return (
      <Empty title="No record yet.">
        <p>The engine compiles, or the first steps are under way. The curves begin with the first record.</p>
      </Empty>
    );
  return (
    <Empty title="This run has logged nothing." line={'hooks: [logger("jsonl")]'}>
      <p>Curves come from metrics.jsonl, which the logger writes:</p>
    </Empty>
  );
}
