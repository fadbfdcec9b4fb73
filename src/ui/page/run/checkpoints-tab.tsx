// The checkpoints of a run on its own axis, with branches; and what one can do with each.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { CheckpointRow } from "../../wire.ts";
import { explain, get } from "../data/api.ts";
import { hello } from "../data/runs.ts";
import * as format from "../format.ts";
import { CopyLine, Empty, ErrorNote } from "../parts/empty.tsx";
import { CheckpointTree } from "./checkpoint-tree.tsx";
import { mayAsk, send } from "./commands.ts";
import { atStep, Confirm, type Question } from "./confirm.tsx";
import type { TabProps } from "./run-page.tsx";

export function CheckpointsTab({ run, page, marks }: TabProps) {
  const rows = useSignal<readonly CheckpointRow[] | null>(null);
  const error = useSignal<string | null>(null);
  const question = useSignal<Question | null>(null);
  const chosen = useSignal<string | null>(null);
  const saves = marks.filter(({ kind }) => kind === "checkpoint").length;
  useEffect(() => {
    get<readonly CheckpointRow[]>(`runs/${run.id}/checkpoints`).then(
      (answer) => {
        rows.value = answer;
        error.value = null;
      },
      (problem: unknown) => (error.value = explain(problem)),
    );
  }, [run.id, saves]);
  if (error.value !== null) return <ErrorNote message={error.value} />;
  if (rows.value === null) return <p class="soft">Reading the checkpoints…</p>;
  if (rows.value.length === 0)
    return (
      <Empty title="No checkpoints." line="hooks: [modelCheckpoint()]">
        <p>A hook saves them, so that a run can be resumed or rolled back:</p>
      </Empty>
    );
  const { row } = page;
  const metric = mainMetric(rows.value, row.metric);
  const best = metric === undefined ? undefined : bestBy(rows.value, metric);
  const canRollBack = mayAsk(page, "rollback");
  const rollBack = ({ name, step }: CheckpointRow): void => {
    question.value = {
      title: `Roll back to step ${format.integer(step)}`,
      text: `It continues from checkpoint ${name}. What it has learned since is dropped.`,
      action: "Roll back",
      needsReason: false,
      onYes: (why) => void send(run, { verb: "rollback", args: { to: name }, ...(why && { why }) }),
    };
  };
  const verify = async (name: string): Promise<void> => {
    const [answer] = await get<readonly CheckpointRow[]>(
      `runs/${run.id}/checkpoints?verify=${encodeURIComponent(name)}`,
    );
    if (answer) rows.value = rows.value!.map((each) => (each.name === name ? answer : each));
  };
  const newestFirst = [...rows.value].sort((a, b) => b.step - a.step || b.time - a.time);
  return (
    <>
      <CheckpointTree
        rows={rows.value}
        run={page.info.id}
        best={best?.name}
        chosen={chosen.value}
        choose={(name) => (chosen.value = name)}
      />
      <div class="scroll" tabIndex={0} role="region" aria-label="Checkpoints">
        <table class="roomy">
          <thead>
            <tr>
              <th scope="col">checkpoint</th>
              <th scope="col" class="number">
                step
              </th>
              <th scope="col">reason</th>
              {metric !== undefined && (
                <th scope="col" class="number">
                  {metric}
                </th>
              )}
              <th scope="col" class="number">
                size
              </th>
              <th scope="col">saved</th>
              <th scope="col">
                <span class="hidden">actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {newestFirst.map((each) => (
              <tr key={each.name} class={chosen.value === each.name ? "current" : undefined}>
                <th scope="row">
                  {each.name} {each === best && <span class="chip">best</span>}{" "}
                  {each.heldBy.length > 0 && (
                    <span class="chip" title={`Not removed while ${each.heldBy.join(", ")} holds it`}>
                      held
                    </span>
                  )}
                </th>
                <td class="number">{format.integer(each.step)}</td>
                <td>{[each.reason, ...each.by].filter(Boolean).join(", ")}</td>
                {metric !== undefined && <td class="number">{format.number(each.metrics[metric])}</td>}
                <td class="number">{format.bytes(each.bytes)}</td>
                <td>{format.clock(each.time)}</td>
                <td class="row-actions">
                  <button
                    type="button"
                    class="link"
                    aria-expanded={chosen.value === each.name}
                    onClick={() => (chosen.value = chosen.value === each.name ? null : each.name)}
                  >
                    use
                  </button>
                  <button type="button" class="link" onClick={() => void verify(each.name)}>
                    {each.verified === undefined ? "verify" : each.verified ? "whole ✓" : "damaged ✕"}
                  </button>
                  {canRollBack && (
                    <button type="button" class="link" onClick={() => rollBack(each)}>
                      roll back…
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {chosen.value !== null && (
        <Use
          directory={`${hello.value?.root ?? "runs"}/${row.name}`}
          name={chosen.value}
          isNewest={chosen.value === newestFirst[0]?.name}
        />
      )}
      {question.value && (
        <Confirm
          question={question.value}
          of={row.name}
          at={atStep(row.step)}
          onClose={() => (question.value = null)}
        />
      )}
    </>
  );
}

const Use = ({ directory, name, isNewest }: { directory: string; name: string; isNewest: boolean }) => (
  <section class="block use">
    <h2>With {name}</h2>
    {isNewest && (
      <p>
        <CopyLine text={`npx hookline resume ${directory}`} />
      </p>
    )}
    <p>
      <CopyLine text={`npx hookline eval ${directory} --checkpoint ${name}`} />
    </p>
    <p>
      <CopyLine text={`npx hookline inspect ${directory}/checkpoints/${name}`} />
    </p>
  </section>
);

const mainMetric = (rows: readonly CheckpointRow[], wanted: string | null): string | undefined => {
  const names = new Set(rows.flatMap(({ metrics }) => Object.keys(metrics)));
  return wanted !== null && names.has(wanted) ? wanted : [...names].sort()[0];
};

/** Losses and errors are better when they are lower; everything else when it is higher. */
function bestBy(rows: readonly CheckpointRow[], metric: string): CheckpointRow | undefined {
  const sign = /loss|error|perplexity|mae|mse/i.test(metric) ? 1 : -1;
  const having = rows.filter(({ metrics }) => Number.isFinite(metrics[metric]));
  return having.sort((a, b) => sign * (a.metrics[metric]! - b.metrics[metric]!))[0];
}
