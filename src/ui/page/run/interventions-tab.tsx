// What hooks and people have changed in a run, with the curve around each change.
import { Chart } from "../chart/chart.tsx";
import { KIND_NAMES, type Mark, type MarkKind } from "../chart/marks.ts";
import * as format from "../format.ts";
import { Empty } from "../parts/empty.tsx";
import { numberSetting, setQuery, setting } from "../router.ts";
import { evaluationOf, linesOf, sectionsOf } from "./chart-groups.ts";
import type { TabProps } from "./run-page.tsx";
import { chartView, logSetting, setLogSetting } from "./view.ts";

const SHAPES: Readonly<Record<MarkKind, string>> = {
  hand: "▲",
  hook: "▲",
  request: "▵",
  refused: "△",
  note: "●",
  checkpoint: "◆",
  evaluation: "|",
  part: "▮",
  error: "✕",
  pause: "❚❚",
};

interface ListProps {
  readonly marks: readonly Mark[];
  readonly chosen?: number | undefined;
  readonly choose?: (step: number) => void;
}

export function InterventionList({ marks, chosen, choose }: ListProps) {
  return (
    <ol class="interventions">
      {marks.map((mark) => {
        const { kind, what, who, why, step, time } = mark;
        return (
          <li key={`${kind} ${what} ${step} ${time}`} class={kind}>
            <p>
              <span class="shape" aria-hidden="true">
                {SHAPES[kind]}
              </span>{" "}
              <strong>{what}</strong>{" "}
              {choose ? (
                <button type="button" class="link" aria-pressed={chosen === step} onClick={() => choose(step)}>
                  step {format.integer(step)}
                </button>
              ) : (
                <span class="soft">step {format.integer(step)}</span>
              )}
            </p>
            <p class="soft">{[who, KIND_NAMES[kind], why].filter(Boolean).join(" · ")}</p>
          </li>
        );
      })}
    </ol>
  );
}

const LISTED: readonly MarkKind[] = ["hand", "hook", "request", "refused", "note", "error", "pause", "part"];

export function InterventionsTab({ run, page, marks }: TabProps) {
  const all = marks.filter(({ kind }) => LISTED.includes(kind)).sort((a, b) => b.step - a.step || b.time - a.time);
  const people = [...new Set(all.map(({ who }) => who).filter(Boolean))].sort();
  const who = setting("who") ?? "";
  const routine = setting("routine") === "1";
  const shown = all.filter((mark) => (who === "" || mark.who === who) && (routine || mark.kind !== "request"));
  const chosen = numberSetting("at") ?? shown[0]?.step;
  if (all.length === 0)
    return (
      <Empty title="Nothing has changed this run.">
        <p>
          What a hook asks for (a learning rate, a stop, a rollback) and what a person asks for from here or with{" "}
          <code>hookline ctl</code> is listed here, with who and why.
        </p>
      </Empty>
    );
  const chart = sectionsOf(page.names)[0]?.charts[0];
  const around = Math.max(20, Math.round(page.row.step / 12));
  const base = chartView(page.row);
  return (
    <div class="two">
      <div class="listing">
        <label>
          by{" "}
          <select value={who} onChange={(event) => setQuery({ who: event.currentTarget.value })}>
            <option value="">anybody</option>
            {people.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={routine} onChange={() => setQuery({ routine: routine ? undefined : "1" })} />{" "}
          also saves and evaluations that hooks request
        </label>
        {shown.length === 0 && <p class="soft">None that matches.</p>}
        <InterventionList marks={shown} chosen={chosen} choose={(step) => setQuery({ at: step })} />
      </div>
      {chart && chosen !== undefined && (
        <div>
          <h2>Before and after step {format.integer(chosen)}</h2>
          <Chart
            title={chart.title}
            lines={linesOf(run.id, chart.names)}
            marks={marks}
            evaluations={evaluationOf(page.names)}
            view={{
              ...base,
              x: "step",
              smooth: 0,
              range: { from: Math.max(0, chosen - around), to: chosen + around },
              setRange: () => undefined,
            }}
            height={260}
            log={logSetting(chart.title)}
            setLog={(log) => setLogSetting(chart.title, log)}
          />
        </div>
      )}
    </div>
  );
}
