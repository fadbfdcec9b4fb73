// The hooks of a run: when they run, what they cost, and a switch for each.
import { useSignal } from "@preact/signals";
import type { HookRow, RunPage } from "../../wire.ts";
import { SmallLines } from "../chart/small-lines.tsx";
import * as format from "../format.ts";
import { Empty } from "../parts/empty.tsx";
import { mayAsk, send, waitingOf } from "./commands.ts";
import { atStep, Confirm, type Question } from "./confirm.tsx";
import { percent, shareOf } from "./hook-cost.tsx";
import type { TabProps } from "./run-page.tsx";

const MOST_LINES = 6;

export function HooksTab({ run, page }: TabProps) {
  const question = useSignal<Question | null>(null);
  const { hooks, row } = page;
  if (hooks.length === 0)
    return (
      <Empty title="The hooks of this run are not known." line={'hooks: [logger("jsonl")]'}>
        <p>The logger writes their list and their times to events.jsonl:</p>
      </Empty>
    );
  const canSwitch = mayAsk(page, "hook");
  const turn = ({ name, enabled }: HookRow): void => {
    const ask = (why: string): void =>
      void send(run, { verb: "hook", args: { name, enabled: !enabled }, ...(why && { why }) });
    if (!enabled) return ask("");
    question.value = {
      title: `Switch off ${name}`,
      text: `From the next step on, ${name} is not called any more.`,
      action: "Switch off",
      needsReason: false,
      onYes: ask,
    };
    return undefined;
  };
  const total = hooks.reduce((sum, { ms }) => sum + ms, 0);
  return (
    <>
      <p class="soft">
        {format.count(hooks.length, "hook")}, together {percent(shareOf(total, row.elapsed))} of the time of training.
        They run in this order.
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Hooks">
        <table class="roomy">
          <thead>
            <tr>
              <th scope="col">hook</th>
              <th scope="col">stage</th>
              <th scope="col">events</th>
              <th scope="col" class="number">
                calls
              </th>
              <th scope="col" class="number">
                ms
              </th>
              <th scope="col" class="number">
                µs a call
              </th>
              <th scope="col" class="number">
                share
              </th>
              <th scope="col">state</th>
            </tr>
          </thead>
          <tbody>
            {hooks.map((hook) => (
              <tr key={hook.name} class={hook.enabled ? undefined : "off"}>
                <th scope="row">{hook.name}</th>
                <td>
                  {hook.stage}
                  <span class="soft">{orderText(hook)}</span>
                </td>
                <td class="soft events">{hook.events.join(", ")}</td>
                <td class="number">{format.integer(hook.calls)}</td>
                <td class="number">{format.number(hook.ms)}</td>
                <td class="number">
                  {hook.calls > 0 ? format.number((1000 * hook.ms) / hook.calls) : "–"}
                  {hook.budget !== undefined && <span class="soft"> of {format.number(1000 * hook.budget)}</span>}
                </td>
                <td class="number">{percent(shareOf(hook.ms, row.elapsed))}</td>
                <td>
                  {canSwitch ? (
                    <button
                      type="button"
                      role="switch"
                      aria-checked={hook.enabled}
                      aria-label={hook.name}
                      disabled={waitingOf(run.commands.value, "hook") !== undefined}
                      onClick={() => turn(hook)}
                    >
                      {hook.enabled ? "on" : "off"}
                    </button>
                  ) : hook.enabled ? (
                    "on"
                  ) : (
                    "off"
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {page.hookTimes.length > 2 && (
        <section class="block">
          <h2>Share of the time, over steps</h2>
          <SmallLines label="Share of the time that each hook took" unit={percent} lines={shareLines(page)} />
        </section>
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

/** Why it is not where its stage alone would put it. */
const orderText = ({ before = [], after = [] }: HookRow): string =>
  [
    after.length > 0 ? `, after ${after.join(", ")}` : "",
    before.length > 0 ? `, before ${before.join(", ")}` : "",
  ].join("");

/** Times are cumulative: a point is what was added since the one before, as a share of the time between them. */
function shareLines({ hookTimes }: RunPage) {
  const totals = hookTimes.map(({ step, time, times }) => {
    const byHook = new Map<string, number>();
    for (const [hook, , , ms] of times) byHook.set(hook, (byHook.get(hook) ?? 0) + ms);
    return { step, time, byHook };
  });
  const last = totals.at(-1)!.byHook;
  const names = [...last]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST_LINES)
    .map(([name]) => name);
  return names.map((name) => ({
    name,
    points: totals.slice(1).flatMap(({ step, time, byHook }, i) => {
      const before = totals[i]!;
      const share = ((byHook.get(name) ?? 0) - (before.byHook.get(name) ?? 0)) / (time - before.time);
      // A resumed run begins to count anew.
      return Number.isFinite(share) && share >= 0 ? [{ x: step, y: share }] : [];
    }),
  }));
}
