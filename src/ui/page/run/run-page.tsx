// The page of one run: who it is, how far it is, what one can do, and its tabs.
import { useEffect, useMemo } from "preact/hooks";
import type { RunPage } from "../../wire.ts";
import { marksOf, type Mark } from "../chart/marks.ts";
import { reading } from "../data/api.ts";
import { LiveRun } from "../data/run.ts";
import { hello, refreshRuns } from "../data/runs.ts";
import * as format from "../format.ts";
import { Empty, ErrorNote } from "../parts/empty.tsx";
import { href, route } from "../router.ts";
import { AboutTab } from "./about-tab.tsx";
import { ChartsTab } from "./charts-tab.tsx";
import { CheckpointsTab } from "./checkpoints-tab.tsx";
import { ControlBar } from "./control-bar.tsx";
import { HooksTab } from "./hooks-tab.tsx";
import { InterventionsTab } from "./interventions-tab.tsx";
import { LayersTab } from "./layers-tab.tsx";
import { MediaTab } from "./media-tab.tsx";

export interface TabProps {
  readonly run: LiveRun;
  readonly page: RunPage;
  readonly marks: readonly Mark[];
}

const TABS = [
  ["charts", "Charts", ChartsTab],
  ["layers", "Layers", LayersTab],
  ["hooks", "Hooks", HooksTab],
  ["checkpoints", "Checkpoints", CheckpointsTab],
  ["interventions", "Interventions", InterventionsTab],
  ["media", "Media", MediaTab],
  ["about", "About", AboutTab],
] as const;

/** Tabs whose charts have an axis to choose. */
const WITH_AXES: readonly string[] = ["charts", "layers"];

/** Settings that every tab keeps. */
const KEPT = ["x", "smooth", "from", "to"];

export function RunPageView({ id, tab }: { id: string; tab: string }) {
  const run = useMemo(() => new LiveRun(id), [id]);
  useEffect(() => () => run.close(), [run]);
  const page = run.page.value;
  const events = run.events.value;
  const commands = run.commands.value;
  const marks = useMemo(() => {
    if (page === null) return [];
    // What was refused after it was carried out is an event as well.
    const known = new Set(events.flatMap(({ type, details }) => (type === "refused" ? [details["command"]] : [])));
    const refused = commands
      .filter(({ id, state, step }) => state === "refused" && step !== undefined && !known.has(id))
      .map(({ verb, by, step, reason, sentAt }): Mark => ({
        kind: "refused",
        step: step!,
        time: sentAt,
        what: verb,
        who: by,
        why: reason ?? "",
      }));
    return [...marksOf(events, page.parts), ...refused];
  }, [events, commands, page?.parts.length]);

  useEffect(() => {
    if (hello.value === null) void refreshRuns();
  }, []);
  const name = page?.row.name;
  useEffect(() => {
    document.title = `${name ?? "Run"} · hookline`;
  }, [name]);

  if (page === null)
    return run.error.value === null ? (
      <p class="page soft" role="status">
        {reading.value ?? "Reading the run…"}
      </p>
    ) : (
      <Gone message={run.error.value} />
    );
  const [, , Tab] = TABS.find(([key]) => key === tab) ?? TABS[0];
  const { info, row } = page;
  const kept = Object.fromEntries([...route.value.query].filter(([key]) => KEPT.includes(key)));
  const facts = [`id ${info.id}`, row.engine, about(info.about, "host"), about(info.about, "pid", "pid ")].filter(
    Boolean,
  );
  return (
    <div class="run-page">
      <div class="run-head">
        <h1>{row.name}</h1>
        <span class="soft">{facts.join(" · ")}</span>
        {page.problems > 0 && (
          <span class="chip" title="Lines of the log that could not be read. The others are shown.">
            {format.count(page.problems, "unreadable line")}
          </span>
        )}
      </div>
      <ControlBar run={run} page={page} hasCharts={WITH_AXES.includes(tab)} />
      {row.state === "error" && row.reason !== null && <ErrorNote message={row.reason} />}
      <nav class="tabs" aria-label="Parts of the run">
        {TABS.map(([key, title]) => (
          <a
            key={key}
            href={href(key === "charts" ? ["run", id] : ["run", id, key], kept)}
            aria-current={key === tab ? "page" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <div class="page">
        <Tab run={run} page={page} marks={marks} />
      </div>
    </div>
  );
}

function about(facts: RunPage["info"]["about"], key: string, before = ""): string {
  const direct = facts[key];
  const process = facts["process"];
  const nested =
    typeof process === "object" && process !== null && !Array.isArray(process)
      ? (process as Record<string, unknown>)[key]
      : undefined;
  const found = direct ?? nested;
  return typeof found === "string" || typeof found === "number" ? `${before}${found}` : "";
}

const Gone = ({ message }: { message: string }) => (
  <div class="page">
    <h1>Run</h1>
    <Empty title="This run cannot be shown.">
      <p>{message}</p>
      <p>
        <a href={href([])}>All runs</a>
      </p>
    </Empty>
  </div>
);
