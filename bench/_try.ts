import { plainSaves, raceSaving } from "./lib/saving-race.ts"; import { sgd } from "hookline/optim"; import { p10, median } from "./lib/stats.ts";
const T = Number(process.argv[2] ?? 12);
const traces = await raceSaving([{}, {save:"sync",hook:plainSaves},{save:"async",hook:plainSaves}], {optimizer: sgd({lr:1e-3}), turn: 12, saveAt:[2], turns: T});
for (const t of traces) {
  const pos = Array.from({length:12},(_,i)=>t.steps.filter((_,j)=>j>=24&&j%12===i).map(s=>s.end-s.begin));
  console.log("p10", pos.map(p=>p10(p).toFixed(1)).join(" ")); console.log("med", pos.map(p=>median(p).toFixed(1)).join(" "));
  const s = t.saves; if (!s.length) continue;
  const f = (g: (x: typeof s[0]) => number) => { const v = s.slice(2).map(g); return `${p10(v).toFixed(1)} / ${median(v).toFixed(1)} first ${g(s[0]!).toFixed(1)}`; };
  console.log("  snapshot", f(x=>x.handed-x.asked), " write", f(x=>x.durable-x.handed), " idle", f(x=>x.idle-x.durable), "endwait", t.endWait.toFixed(1));
}
