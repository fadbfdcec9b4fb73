// The trials of a study, the best ones first.
import { useSignal } from "@preact/signals";
import type { StudyPage, TrialRow } from "../../wire.ts";
import * as format from "../format.ts";
import { href } from "../router.ts";
import { Confirm, type Question } from "../run/confirm.tsx";
import { ranked } from "./ranked.ts";
import { allowedOf, trialsText, type AskStudy } from "./study-commands.ts";

interface TrialTableProps {
  readonly study: StudyPage;
  readonly lit: number | null;
  readonly choose: (number: number | null) => void;
  readonly ask: AskStudy;
}

const ENDED: ReadonlySet<TrialRow["status"]> = new Set(["completed", "pruned", "failed"]);

export function TrialTable({ study, lit, choose, ask }: TrialTableProps) {
  const question = useSignal<Question | null>(null);
  const better = ranked(study);
  const rest = study.trials.filter((trial) => !better.includes(trial)).sort((a, b) => b.number - a.number);
  const mayPrune = allowedOf(study).includes("prune");
  const prune = ({ number }: TrialRow): void => {
    question.value = {
      title: `Prune trial ${number}`,
      text: "The trial ends early, with what it has reported so far.",
      action: "Prune",
      needsReason: false,
      onYes: (why) => ask({ verb: "prune", args: { trial: number }, ...(why && { why }) }),
    };
  };
  return (
    <section class="block">
      <h2>Trials</h2>
      <div class="scroll tall" tabIndex={0} role="region" aria-label="Trials">
        <table class="roomy">
          <thead>
            <tr>
              <th scope="col">trial</th>
              <th scope="col">status</th>
              {study.objectives.map(({ metric }) => (
                <th key={metric} scope="col" class="number">
                  {metric}
                </th>
              ))}
              {study.parameters.map(({ name }) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
              {mayPrune && (
                <th scope="col">
                  <span class="hidden">actions</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {[...better, ...rest].map((trial) => (
              <tr
                key={trial.number}
                class={lit === trial.number ? "current" : undefined}
                onMouseEnter={() => choose(trial.number)}
                onMouseLeave={() => choose(null)}
              >
                <th scope="row">
                  {trial.run === null ? (
                    `trial ${trial.number}`
                  ) : (
                    <a href={href(["run", trial.run])}>trial {trial.number}</a>
                  )}
                  {trial.touched && <span title="Changed by hand: its result did not teach the sampler"> ✋</span>}
                </th>
                <td title={trial.reason || undefined}>{trial.status}</td>
                {study.objectives.map(({ metric }) => (
                  <td key={metric} class="number">
                    {format.number(trial.result[metric])}
                  </td>
                ))}
                {study.parameters.map(({ name }) => (
                  <td key={name} class="number">
                    {name in trial.params ? format.value(trial.params[name]) : "–"}
                  </td>
                ))}
                {mayPrune && (
                  <td>
                    {!ENDED.has(trial.status) && (
                      <button
                        type="button"
                        class="link"
                        aria-label={`Prune trial ${trial.number}`}
                        onClick={() => prune(trial)}
                      >
                        prune…
                      </button>
                    )}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {question.value && (
        <Confirm
          question={question.value}
          of={study.row.name}
          at={trialsText(study.row)}
          onClose={() => (question.value = null)}
        />
      )}
    </section>
  );
}
