// Studies: the list of them, and one with its objective over trials, parameters, curves and trials.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { StudyPage } from "../../wire.ts";
import { SmallLines } from "../chart/small-lines.tsx";
import { explain, get } from "../data/api.ts";
import { listen } from "../data/live.ts";
import { refreshStudies, studies } from "../data/runs.ts";
import * as format from "../format.ts";
import { Empty, ErrorNote } from "../parts/empty.tsx";
import { href } from "../router.ts";
import { ObjectiveChart } from "./objective-chart.tsx";
import { ParallelChart } from "./parallel-chart.tsx";
import { ranked } from "./ranked.ts";
import { StudyBar } from "./study-bar.tsx";
import { askStudy, trialsText, type AskStudy } from "./study-commands.ts";
import { TrialTable } from "./trial-table.tsx";

export const SweepPage = ({ id }: { id: string | undefined }) =>
  id === undefined ? <Studies /> : <Sweep key={id} id={id} />;

function Studies() {
  const error = useSignal<string | null>(null);
  useEffect(() => {
    document.title = "Sweeps · hookline";
    const refresh = (): void =>
      void refreshStudies().then(
        () => (error.value = null),
        (problem: unknown) => (error.value = explain(problem)),
      );
    return listen({ runs: [], runsChanged: refresh, catchUp: refresh });
  }, []);
  return (
    <div class="page">
      <h1>Sweeps</h1>
      {error.value !== null && <ErrorNote message={error.value} />}
      {studies.value?.length === 0 && (
        <Empty title="No studies in this directory." line="npx hookline tune sweep.yaml">
          <p>A study searches for good hyperparameters. This runs one:</p>
        </Empty>
      )}
      {studies.value && studies.value.length > 0 && (
        <div class="scroll block" tabIndex={0} role="region" aria-label="Studies">
          <table class="roomy">
            <thead>
              <tr>
                <th scope="col">study</th>
                <th scope="col">state</th>
                <th scope="col" class="number">
                  trials
                </th>
                <th scope="col">objective</th>
                <th scope="col" class="number">
                  best
                </th>
              </tr>
            </thead>
            <tbody>
              {studies.value.map((row) => (
                <tr key={row.id}>
                  <th scope="row">
                    <a href={href(["sweep", row.id])}>{row.name}</a>
                  </th>
                  <td>{row.state}</td>
                  <td class="number">{trialsText(row)}</td>
                  <td>{row.objective}</td>
                  <td class="number">{format.number(row.best)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

const EVERY = 1000;

function Sweep({ id }: { id: string }) {
  const page = useSignal<StudyPage | null>(null);
  const error = useSignal<string | null>(null);
  const lit = useSignal<number | null>(null);
  const said = useSignal("");
  const ask: AskStudy = (command) => void askStudy(id, command, said);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async (): Promise<void> => {
      timer = undefined;
      try {
        page.value = await get<StudyPage>(`studies/${id}`);
        error.value = null;
      } catch (problem) {
        if (page.peek() === null) error.value = explain(problem);
      }
    };
    const soon = (): void => void (timer ??= setTimeout(() => void load(), EVERY));
    const stop = listen({ runs: [], runsChanged: soon, catchUp: () => void load() });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [id]);
  const study = page.value;
  const name = study?.row.name;
  useEffect(() => {
    document.title = `${name ?? "Sweep"} · hookline`;
  }, [name]);
  if (study === null)
    return (
      <div class="page">
        {error.value === null ? <p class="soft">Reading the study…</p> : <ErrorNote message={error.value} />}
      </div>
    );
  const objective = study.objectives[0]!;
  const choose = (number: number | null): void => void (lit.value = number);
  return (
    <div class="page">
      <div class="bar">
        <h1>{study.row.name}</h1>
        <span class="soft">
          {study.row.state} · {trialsText(study.row)} · {objective.metric}, {objective.mode === "min" ? "less" : "more"}{" "}
          is better
          {study.row.best !== null && ` · best ${format.number(study.row.best)}`}
        </span>
      </div>
      <StudyBar study={study} ask={ask} said={said.value} />
      <div class="grid">
        <section>
          <h2>{objective.metric} over trials</h2>
          <ObjectiveChart study={study} lit={lit.value} choose={choose} />
        </section>
        <section>
          <h2>Importance of the parameters</h2>
          <Importance study={study} />
        </section>
        <section class="main-chart">
          <h2>Parameters</h2>
          <ParallelChart study={study} lit={lit.value} choose={choose} />
        </section>
        <section class="main-chart">
          <h2>Curves of the best trials</h2>
          <SmallLines label={`${objective.metric} of the best trials`} lines={bestCurves(study)} zero={false} />
        </section>
      </div>
      <TrialTable study={study} lit={lit.value} choose={choose} ask={ask} />
    </div>
  );
}

function Importance({ study }: { study: StudyPage }) {
  if (study.importance === null) return <p class="soft">It takes eight trials that can be compared.</p>;
  return (
    <dl class="bars">
      {study.importance.map(({ name, share }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <i style={{ width: `${100 * share}%` }} />
            {(100 * share).toFixed(0)} %
          </dd>
        </div>
      ))}
    </dl>
  );
}

const MOST_CURVES = 8;

const bestCurves = (study: StudyPage) =>
  ranked(study)
    .slice(0, MOST_CURVES)
    .map(({ number, reports }) => ({ name: `trial ${number}`, points: reports.map(([x, y]) => ({ x, y })) }));
