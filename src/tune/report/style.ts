// How the page of a report looks, by day and by night.

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
