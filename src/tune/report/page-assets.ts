// The stylesheet and the script of a report's page. The script highlights a trial everywhere, sorts tables, and filters
// by ranges on the axes. The page's policy allows it by its hash: a test compares the two.

export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1d2329; --soft: #5c6670; --rule: #e3e7ea; --panel: #f6f8f9;
  --worst: #d8cfc2; --best: #00647a; --accent: #b3501b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181c; --ink: #e4e8eb; --soft: #98a3ad; --rule: #2b323a; --panel: #1b2026;
    --worst: #4a4640; --best: #52d6e6; --accent: #ffa869;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 24px 16px 48px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 12px; font-size: 26px; overflow-wrap: anywhere; }
h2 { margin: 0 0 10px; font-size: 16px; overflow-wrap: anywhere; }
main { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 32px 40px; margin-top: 28px; }
section { min-width: 0; }
.whole { grid-column: 1 / -1; }
@media (max-width: 760px) { main { grid-template-columns: minmax(0, 1fr); } }
.summary { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 0; }
.summary div { padding: 10px 12px; border-radius: 8px; background: var(--panel); }
.summary dt { color: var(--soft); font-size: 13px; overflow-wrap: anywhere; }
.summary dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
.note { margin: 10px 0 0; color: var(--soft); font-size: 13px; }
pre { margin: 0; padding: 10px 12px; border-radius: 8px; background: var(--panel); font: 13px/1.45 ui-monospace, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; max-height: 320px; overflow-y: auto; }
.scroll { overflow-x: auto; }
.table { max-height: 70vh; overflow-y: auto; border: 1px solid var(--rule); border-radius: 8px; }
table { width: 100%; border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th { position: sticky; top: 0; background: var(--panel); text-align: left; }
th button { all: unset; padding: 7px 10px; font-weight: 600; white-space: nowrap; }
.scripted-page th button { cursor: pointer; }
th button:focus-visible { outline: 2px solid var(--best); outline-offset: -2px; }
th[aria-sort=ascending] button::after { content: " ↑"; }
th[aria-sort=descending] button::after { content: " ↓"; }
td { padding: 5px 10px; border-top: 1px solid var(--rule); white-space: nowrap; max-width: 260px; overflow: hidden;
  text-overflow: ellipsis; }
.number { text-align: right; }
td.long div { max-width: 420px; overflow: hidden; text-overflow: ellipsis; color: var(--soft); }
.chart { padding: 6px 10px 42px 54px; }
.chart.parallel { padding: 48px 88px 40px 48px; }
.plot { display: block; width: 100%; overflow: visible; }
.plot text { fill: var(--soft); font-size: 12px; }
.plot .title { fill: var(--ink); font-weight: 600; }
.lines { overflow: visible; }
.rule { stroke: var(--rule); }
.upright { stroke: var(--soft); }
.parallel text { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
polyline { fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
polyline.mark { stroke: color-mix(in oklab, var(--best) var(--good), var(--worst)); }
polyline.best { stroke: var(--accent); stroke-width: 2; }
circle.mark { fill: color-mix(in oklab, var(--best) var(--good), var(--worst)); }
circle.pruned, circle.paused { opacity: 0.45; }
polyline.pruned, polyline.paused { opacity: 0.4; }
circle.ring { fill: none; stroke: var(--accent); stroke-width: 2; }
.plot text.failed { fill: var(--accent); font-size: 15px; }
.key { display: inline-block; width: 72px; height: 10px; border-radius: 5px;
  background: linear-gradient(to right in oklab, var(--worst), var(--best)); }
.bars { display: grid; grid-template-columns: fit-content(45%) minmax(0, 1fr); gap: 8px 12px; margin: 4px 0 0; font-size: 14px; }
.bars dt { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.bars dd { display: flex; align-items: center; gap: 8px; margin: 0; padding-right: 48px; }
.bar { height: 14px; min-width: 2px; border-radius: 3px; background: var(--best); }
.bar.together { background: var(--worst); }
.share { margin-right: -48px; color: var(--soft); font-size: 13px; white-space: nowrap; }
.failures { margin: 0; padding-left: 18px; }
.failures li + li { margin-top: 12px; }
.scripted, .brush, .range { display: none; }
.scripted-page .scripted { display: inline; }
.scripted-page .brush { display: block; fill: transparent; cursor: ns-resize; touch-action: none; }
.scripted-page .range { display: block; fill: var(--accent); fill-opacity: 0.35; pointer-events: none; }
.out { opacity: 0.06 !important; pointer-events: none; }
tr.out { display: none; }
polyline.on { stroke: var(--accent) !important; stroke-width: 3; opacity: 1 !important; }
circle.on { fill: var(--accent) !important; opacity: 1; r: 6px; }
tr.on { background: var(--panel); }
.tip { position: fixed; z-index: 1; max-width: 300px; padding: 8px 10px; border: 1px solid var(--rule); border-radius: 6px;
  background: var(--paper); box-shadow: 0 4px 16px rgb(0 0 0 / 0.2); font-size: 12px; line-height: 1.4; pointer-events: none;
  white-space: pre-line; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
`;

export const SCRIPT_HASH = "sha256-QbpZv11FtX9P2tmekk0/aSoKSjDx0E6PYGOxmdxSBdg=";

export const SCRIPT = `
document.documentElement.classList.add("scripted-page");
const marks = new Map();
for (const mark of document.querySelectorAll("[data-trial]")) {
  const same = marks.get(mark.dataset.trial);
  if (same) same.push(mark);
  else marks.set(mark.dataset.trial, [mark]);
}
const tables = [...document.querySelectorAll("table")];
const whole = tables.at(-1);
const tip = document.querySelector(".tip");
let pointed;

function point(trial, event) {
  if (trial !== pointed) {
    for (const mark of marks.get(pointed) ?? []) mark.classList.remove("on");
    for (const mark of marks.get(trial) ?? []) mark.classList.add("on");
    pointed = trial;
  }
  tip.hidden = trial === undefined || event.target.closest("table") !== null;
  if (tip.hidden) return;
  const row = whole.querySelector('tr[data-trial="' + trial + '"]');
  const titles = [...whole.tHead.rows[0].cells].map((cell) => cell.textContent);
  tip.textContent = [...row.cells]
    .map((cell, i) => [titles[i], cell.textContent])
    .filter(([, text]) => text !== "")
    .map((both) => both.join(": "))
    .join("\\n");
  const { offsetWidth: width, offsetHeight: height } = tip;
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
  tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 8)) + "px";
}
document.addEventListener("pointermove", (event) => {
  point(event.target.closest?.("[data-trial]")?.dataset.trial, event);
});

for (const table of tables) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) =>
    head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const isNumber = head.classList.contains("number");
      const key = (row) => row.cells[column].textContent;
      const order = (a, b) => (isNumber ? a - b : a.localeCompare(b));
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [left, right] = [key(a), key(b)];
        // What is missing stays at the end.
        if (left === "" || right === "") return (left === "") - (right === "");
        return down ? order(right, left) : order(left, right);
      });
      table.tBodies[0].append(...rows);
    }),
  );
}

const chosen = new Map();
const lines = [...document.querySelectorAll(".parallel polyline")].map((line) => ({
  trial: line.dataset.trial,
  heights: line.getAttribute("points").split(" ").map((corner) => Number(corner.split(",")[1])),
}));
function choose() {
  for (const { trial, heights } of lines) {
    const out = [...chosen].some(([axis, [from, to]]) => heights[axis] < from || heights[axis] > to);
    for (const mark of marks.get(trial)) mark.classList.toggle("out", out);
  }
}
for (const brush of document.querySelectorAll(".brush")) {
  const axis = Number(brush.dataset.axis);
  const range = brush.previousElementSibling;
  const height = (event) => event.clientY - brush.ownerSVGElement.getBoundingClientRect().top;
  let from;
  const show = (low, high) => {
    range.setAttribute("y", low);
    range.setAttribute("height", high - low);
  };
  brush.addEventListener("pointerdown", (event) => {
    from = height(event);
    brush.setPointerCapture(event.pointerId);
  });
  brush.addEventListener("pointermove", (event) => {
    if (from === undefined) return;
    const to = height(event);
    show(Math.min(from, to), Math.max(from, to));
  });
  brush.addEventListener("pointerup", (event) => {
    const to = height(event);
    if (Math.abs(to - from) < 3) {
      chosen.delete(axis);
      show(0, 0);
    } else chosen.set(axis, [Math.min(from, to), Math.max(from, to)]);
    from = undefined;
    choose();
  });
}
`;
