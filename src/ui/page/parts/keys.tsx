// The keys of the whole page, and the dialog that lists them. No single letter changes a run.
import { signal } from "@preact/signals";
import { go } from "../router.ts";
import { Dialog } from "./dialog.tsx";

export type KeyMap = Readonly<Record<string, () => void>>;

const maps = new Set<KeyMap>();
export const helpShown = signal(false);
let afterG = 0;

/** Adds keys of a page until the returned function is called. */
export function addKeys(keys: KeyMap): () => void {
  maps.add(keys);
  return () => maps.delete(keys);
}

const PAGES: Readonly<Record<string, string>> = { r: "", s: "sweeps", c: "compare" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const page = performance.now() - afterG < 1500 ? PAGES[event.key] : undefined;
  afterG = event.key === "g" ? performance.now() : -Infinity;
  if (page !== undefined) {
    event.preventDefault();
    return go(page === "" ? [] : [page]);
  }
  if (event.key === "?") return void (helpShown.value = true);
  const name = event.shiftKey && event.key.length === 1 ? `Shift+${event.key.toUpperCase()}` : event.key;
  for (const map of [...maps].toReversed()) {
    const action = map[name];
    if (!action) continue;
    event.preventDefault();
    return action();
  }
  return undefined;
});

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.matches("input:not([type=checkbox], [type=range]), select, textarea") || target.closest("dialog") !== null);

const HELP: readonly (readonly [title: string, keys: readonly (readonly [string, string])[]])[] = [
  [
    "Everywhere",
    [
      ["g r, g c, g s", "runs, compare, sweeps"],
      ["/", "filter"],
      ["?", "this list"],
      ["Esc", "close, leave a field"],
    ],
  ],
  [
    "Runs",
    [
      ["j, k", "next, previous"],
      ["x", "select"],
      ["Enter", "open"],
      ["c", "compare what is selected"],
    ],
  ],
  [
    "A chart with the focus",
    [
      ["←, →", "cursor"],
      ["Shift+←, →", "move the range"],
      ["+, −, 0", "zoom in, out, all"],
      ["[, ]", "previous, next intervention"],
      ["l", "logarithmic scale"],
      ["s", "smoothing"],
      ["t", "table"],
    ],
  ],
  [
    "Control of a run",
    [
      ["Shift+P", "pause or continue"],
      ["Shift+N", "one step"],
      ["Shift+S", "save a checkpoint"],
      ["Shift+E", "evaluate"],
      ["Shift+L", "learning rate"],
      ["Shift+X", "stop"],
    ],
  ],
];

export function Help() {
  if (!helpShown.value) return null;
  return (
    <Dialog title="Keyboard" onClose={() => (helpShown.value = false)}>
      <div class="help">
        {HELP.map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, does]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="soft">
        With the pointer: drag to zoom, Shift and drag to move, Ctrl and wheel to zoom, double click for all.
      </p>
      <div class="actions">
        <button type="button" onClick={() => (helpShown.value = false)}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
