// What surrounds every page: navigation, the state of the connection, help.
import { useEffect } from "preact/hooks";
import { lost } from "./data/api.ts";
import { retryNow } from "./data/live.ts";
import { hello } from "./data/runs.ts";
import * as format from "./format.ts";
import { ComparePage } from "./compare/compare-page.tsx";
import { Help, helpShown } from "./parts/keys.tsx";
import { useNow } from "./parts/state.tsx";
import { href, pageName, route } from "./router.ts";
import { RunPageView } from "./run/run-page.tsx";
import { RunsPage } from "./list/runs-page.tsx";
import { SweepPage } from "./sweep/sweep-page.tsx";

const NAVIGATION: readonly (readonly [name: string, title: string, path: readonly string[]])[] = [
  ["runs", "Runs", []],
  ["compare", "Compare", ["compare"]],
  ["sweeps", "Sweeps", ["sweeps"]],
];

export function Shell() {
  const { path } = route.value;
  const name = pageName.value;
  useEffect(() => window.scrollTo(0, 0), [path[0], path[1]]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => (event.preventDefault(), document.querySelector("main")?.focus())}
      >
        To the content
      </a>
      <header class="top">
        <a class="brand" href={href([])}>
          hookline
        </a>
        <nav aria-label="Pages">
          {NAVIGATION.map(([key, title, to]) => (
            <a
              key={key}
              href={href(to)}
              aria-current={name === key || (key === "sweeps" && name === "sweep") ? "page" : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
        <span class="root soft" title="The directory that is shown">
          {hello.value?.root}
        </span>
        <button type="button" class="quiet" onClick={() => (helpShown.value = true)} aria-label="Keyboard">
          ?
        </button>
      </header>
      <Connection />
      <main id="main" tabIndex={-1} class={lost.value ? "lost" : undefined}>
        <Page name={name} path={path} />
      </main>
      <Help />
    </>
  );
}

function Page({ name, path }: { name: string; path: readonly string[] }) {
  switch (name) {
    case "runs":
      return <RunsPage />;
    case "run":
      return <RunPageView key={path[1]} id={path[1] ?? ""} tab={path[2] ?? "charts"} />;
    case "compare":
      return <ComparePage />;
    case "sweeps":
    case "sweep":
      return <SweepPage id={path[1]} />;
    default:
      return (
        <div class="page">
          <h1>No such page</h1>
          <p>The list of runs is under “Runs”.</p>
        </div>
      );
  }
}

/** Shown while the server does not answer: what is on the page is the last that it said. */
function Connection() {
  const now = useNow();
  if (!lost.value) return null;
  const { since, retryAt, token, hasEnded } = lost.value;
  const wait = Math.max(0, Math.ceil((retryAt - now) / 1000));
  return (
    <p class="connection" role="status">
      {token
        ? "The server was started again and wants its new link: open the one that it printed. "
        : hasEnded
          ? `The dashboard has ended, with its run if that started it. What you see is ${format.duration((now - since) / 1000)} old. `
          : `No answer from the server. What you see is ${format.duration((now - since) / 1000)} old. `}
      {hasEnded && (
        <>
          <code>npx hookline ui {hello.value?.root}</code> shows it again.{" "}
        </>
      )}
      {wait > 0 ? `Next try in ${wait} s. ` : "Trying… "}
      <button type="button" onClick={retryNow}>
        Try now
      </button>
    </p>
  );
}
