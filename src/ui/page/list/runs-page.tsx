// The list of runs. Rows have a fixed height, and only those on the screen are in the document.
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { RunRow, RunsAnswer } from "../../wire.ts";
import { listen } from "../data/live.ts";
import { hello, refreshRuns, runs, runsError, runsKnown, unreadable } from "../data/runs.ts";
import * as format from "../format.ts";
import { Empty, ErrorNote } from "../parts/empty.tsx";
import { addKeys } from "../parts/keys.tsx";
import { go, listSetting, setQuery, setting } from "../router.ts";
import { parseFilter } from "./filter.ts";
import { differingHparams, listLines, sortRuns, type SortKey } from "./rows.ts";
import { RunTable } from "./run-table.tsx";

const MOST_COMPARED = 50;

function unreadableText({ some, count }: RunsAnswer["unreadable"]): string {
  const more = count > some.length ? ` and ${format.integer(count - some.length)} more` : "";
  return `Not in the list, since their run.json cannot be read: ${some.join(", ")}${more}.`;
}

export function RunsPage() {
  const field = useRef<HTMLInputElement>(null);
  const current = useSignal(-1);
  const filter = useComputed(() => parseFilter(setting("filter") ?? ""));
  const sort = (setting("sort") ?? "started") as SortKey;
  const by = setting("group");
  const matching = useMemo(
    () => sortRuns(runs.value.filter(filter.value.matches), sort),
    [runs.value, filter.value, sort],
  );
  const lines = useMemo(() => listLines(matching, by), [matching, by]);
  const selected = new Set(listSetting("selected"));
  const hparams = useComputed(() => differingHparams(runs.value)).value;

  useEffect(() => {
    document.title = "Runs · hookline";
    return listen({ runs: [], runsChanged: () => void refreshRuns(), catchUp: () => void refreshRuns() });
  }, []);

  const newest = runs.value[0]?.id;
  const follows = setting("follow") === "1";
  const first = useRef(newest);
  useEffect(() => {
    if (follows && newest !== undefined && first.current !== undefined && newest !== first.current) go(["run", newest]);
    first.current = newest;
  }, [newest, follows]);

  // Read from the address when a key is pressed: keys can be faster than the next rendering.
  const toggle = (id: string): void => {
    const next = new Set(listSetting("selected"));
    if (!next.delete(id) && next.size < MOST_COMPARED) next.add(id);
    setQuery({ selected: [...next].join(",") });
  };
  const compare = (): void => {
    const ids = listSetting("selected");
    if (ids.length > 0) go(["compare"], { runs: ids.join(",") });
  };
  // Keys see the lines that are on the screen. An effect, which runs some time after they were drawn, would see older ones.
  const shown = useRef(lines);
  shown.current = lines;
  const currentRow = (): RunRow | undefined => {
    const line = shown.current[current.value];
    return line?.kind === "run" ? line.row : undefined;
  };
  const move = (by: number): void => {
    let next = current.value + by;
    while (shown.current[next]?.kind === "group") next += by;
    if (next >= 0 && next < shown.current.length) current.value = next;
  };
  useLayoutEffect(
    () =>
      addKeys({
        j: () => move(1),
        k: () => move(-1),
        x: () => currentRow() && toggle(currentRow()!.id),
        Enter: () => currentRow() && go(["run", currentRow()!.id]),
        c: compare,
        "/": () => field.current?.focus(),
      }),
    [],
  );

  return (
    <div class="page runs-page">
      <div class="bar">
        <h1>Runs</h1>
        <label class="filter">
          <span class="hidden">Filter</span>
          <input
            ref={field}
            type="search"
            placeholder="words, status:running lr<1e-3 val/loss<0.4"
            value={setting("filter") ?? ""}
            onInput={(event) => setQuery({ filter: event.currentTarget.value })}
            onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
          />
        </label>
        <label>
          sort
          <select value={sort} onChange={(event) => setQuery({ sort: event.currentTarget.value })}>
            <option value="started">newest</option>
            <option value="name">name</option>
            <option value="best">best value</option>
            <option value="step">step</option>
            <option value="elapsed">time</option>
          </select>
        </label>
        <label>
          group
          <select value={by ?? ""} onChange={(event) => setQuery({ group: event.currentTarget.value })}>
            <option value="">none</option>
            <option value="directory">directory</option>
            {hparams.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={follows} onChange={() => setQuery({ follow: follows ? undefined : "1" })} />
          follow the newest
        </label>
        <span class="right">
          <button type="button" disabled={selected.size === 0} onClick={compare}>
            Compare{selected.size > 0 ? ` ${selected.size}` : ""}
          </button>
        </span>
      </div>
      {filter.value.problem !== undefined && <ErrorNote message={filter.value.problem} />}
      {runsError.value !== null && !runsKnown.value && <ErrorNote message={runsError.value} />}
      {unreadable.value.count > 0 && <ErrorNote message={unreadableText(unreadable.value)} />}
      {runsKnown.value && runs.value.length === 0 && (
        <Empty title={`No runs in ${hello.value?.root ?? "this directory"} yet.`} line="npx hookline train">
          <p>A training with a run directory below it appears here at once. This makes one:</p>
        </Empty>
      )}
      {runs.value.length > 0 && (
        <>
          <p class="soft counts" role="status">
            {matching.length === runs.value.length
              ? format.count(runs.value.length, "run")
              : `${format.integer(matching.length)} of ${format.count(runs.value.length, "run")}`}
          </p>
          <RunTable lines={lines} hparams={hparams} selected={selected} current={current} toggle={toggle} />
        </>
      )}
    </div>
  );
}
