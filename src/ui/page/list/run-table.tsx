// The table of runs: fixed rows of 28 pixels, of which those that fit are in the document.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { RunRow } from "../../wire.ts";
import * as format from "../format.ts";
import { StateBadge } from "../parts/state.tsx";
import { href } from "../router.ts";
import { bestMetric, bestOf, type GroupLine, type ListLine } from "./rows.ts";
import { Spark } from "./spark.tsx";

const ROW = 28;
const BEFORE = 4;
/** As many as fit, and some on both sides. */
const rowsThatFit = (): number => Math.ceil(innerHeight / ROW) + 2 * BEFORE;
const MOST_HPARAMS = 3;

interface TableProps {
  readonly lines: readonly ListLine[];
  readonly hparams: readonly string[];
  readonly selected: ReadonlySet<string>;
  readonly current: Signal<number>;
  readonly toggle: (id: string) => void;
}

export function RunTable({ lines, hparams, selected, current, toggle }: TableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const first = useSignal(0);
  const count = useSignal(rowsThatFit());
  const shownHparams = hparams.slice(0, MOST_HPARAMS);

  useEffect(() => {
    const scrolled = (): void => {
      const top = body.current?.getBoundingClientRect().top ?? 0;
      first.value = Math.max(0, Math.floor(-top / ROW) - BEFORE);
      count.value = rowsThatFit();
    };
    scrolled();
    addEventListener("scroll", scrolled, { passive: true });
    addEventListener("resize", scrolled);
    return () => {
      removeEventListener("scroll", scrolled);
      removeEventListener("resize", scrolled);
    };
  }, []);

  const at = current.value;
  useEffect(() => {
    if (at < 0 || !body.current) return;
    const top = body.current.getBoundingClientRect().top + at * ROW;
    if (top < 120) scrollBy(0, top - 120);
    else if (top + ROW > innerHeight - 20) scrollBy(0, top + ROW - innerHeight + 20);
  }, [at]);

  const from = Math.min(first.value, Math.max(0, lines.length - count.value));
  const shown = lines.slice(from, from + count.value);
  const metrics = useMemo(() => metricsOf(lines), [lines]);
  return (
    <table class="runs" aria-rowcount={lines.length + 1}>
      <colgroup>
        <col class="c-select" />
        <col class="c-state" />
        <col class="c-name" />
        <col class="c-step" />
        <col class="c-spark" />
        <col class="c-best" />
        {shownHparams.map((name) => (
          <col key={name} class="c-hparam" />
        ))}
        <col class="c-started" />
        <col class="c-time" />
      </colgroup>
      <thead>
        <tr>
          <th scope="col">
            <span class="hidden">select</span>
          </th>
          <th scope="col">
            <span class="wide-text">state</span>
          </th>
          <th scope="col">name</th>
          <th scope="col" class="number">
            step
          </th>
          <th scope="col" class="wide">
            curve
          </th>
          <th scope="col" class="number" title={[...metrics].join(", ")}>
            best{metrics.size === 1 && <span class="wide-text"> {[...metrics][0]}</span>}
          </th>
          {shownHparams.map((name) => (
            <th key={name} scope="col" class="number wide" title={name}>
              {name}
            </th>
          ))}
          <th scope="col" class="number wide">
            started
          </th>
          <th scope="col" class="number wide">
            time
          </th>
        </tr>
      </thead>
      <tbody ref={body}>
        {from > 0 && <Spacer rows={from} />}
        {shown.map((line, i) =>
          line.kind === "group" ? (
            <GroupRow key={line.key} line={line} index={from + i} others={OTHERS + shownHparams.length} />
          ) : (
            <Row
              key={line.key}
              row={line.row}
              index={from + i}
              hparams={shownHparams}
              isSelected={selected.has(line.row.id)}
              isCurrent={at === from + i}
              toggle={toggle}
            />
          ),
        )}
        {from + shown.length < lines.length && <Spacer rows={lines.length - from - shown.length} />}
      </tbody>
    </table>
  );
}

function metricsOf(lines: readonly ListLine[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const line of lines) {
    const name = line.kind === "run" ? bestMetric(line.row) : undefined;
    if (name !== undefined) names.add(name);
  }
  return names;
}

/** Its cell spans no columns: on a narrow screen it would make room for those that are not shown. */
const Spacer = ({ rows }: { rows: number }) => (
  <tr aria-hidden="true">
    <td class="spacer" style={{ height: `${rows * ROW}px` }} />
  </tr>
);

/** Columns that a narrow screen shows too. */
const ALWAYS_SHOWN = 5;
/** Without the hyperparameters. */
const OTHERS = 3;

interface GroupProps {
  readonly line: GroupLine;
  readonly index: number;
  /** Columns that only a wide screen shows. */
  readonly others: number;
}

function GroupRow({ line: { key, runs, metric }, index, others }: GroupProps) {
  return (
    <tr class="group" aria-rowindex={index + 2}>
      <th scope="rowgroup" colSpan={ALWAYS_SHOWN}>
        {key} <span class="soft">{format.count(runs.length, "run")}</span>
        {metric && (
          <span class="soft">
            {" · "}
            {metric.name} {format.number(metric.mean)} on average, {format.number(metric.min)} to{" "}
            {format.number(metric.max)}
          </span>
        )}
      </th>
      <td class="wide" colSpan={others} />
    </tr>
  );
}

interface RowProps {
  readonly row: RunRow;
  readonly index: number;
  readonly hparams: readonly string[];
  readonly isSelected: boolean;
  readonly isCurrent: boolean;
  readonly toggle: (id: string) => void;
}

function Row({ row, index, hparams, isSelected, isCurrent, toggle }: RowProps) {
  const { id, name, state, step, totalSteps, startedAt, elapsed } = row;
  const part = totalSteps === null ? undefined : Math.min(1, step / totalSteps);
  const best = bestOf(row);
  const base = name.lastIndexOf("/") + 1;
  return (
    <tr aria-rowindex={index + 2} class={isCurrent ? "current" : undefined} aria-selected={isSelected}>
      <td>
        <input type="checkbox" checked={isSelected} onChange={() => toggle(id)} aria-label={`Select ${name}`} />
      </td>
      <td>
        <StateBadge state={state} />
      </td>
      <td class="name">
        <a href={href(["run", id])} title={row.reason === null ? name : `${name}: ${row.reason}`}>
          <span class="dir">{name.slice(0, base)}</span>
          <span class="base">{name.slice(base)}</span>
        </a>
      </td>
      <td class="number">
        <span class="steps">
          {format.integer(step)}
          {totalSteps !== null && (
            <span class="soft"> / {totalSteps < 1e5 ? format.integer(totalSteps) : format.tick(totalSteps)}</span>
          )}
          {part !== undefined && state !== "completed" && <i class="progress" style={{ width: `${100 * part}%` }} />}
        </span>
      </td>
      <td class="wide">
        <Spark row={row} />
      </td>
      <td class="number" title={bestMetric(row)}>
        {best === undefined ? <span class="soft">–</span> : format.number(best)}
      </td>
      {hparams.map((key) => (
        <td key={key} class="number wide" title={key in row.hparams ? format.value(row.hparams[key]) : undefined}>
          {key in row.hparams ? format.value(row.hparams[key]) : <span class="soft">–</span>}
        </td>
      ))}
      <td class="number wide" title={format.moment(startedAt)}>
        {format.clock(startedAt)}
      </td>
      <td class="number wide soft">{format.duration(elapsed)}</td>
    </tr>
  );
}
