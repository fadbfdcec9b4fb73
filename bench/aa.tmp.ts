import { handLoop } from "./lib/hand-loop.ts";
import { mlp, oneLayer } from "./lib/models.ts";
import { median, p10 } from "./lib/stats.ts";
for (const [name, setup, n, w] of [["mlp", mlp, 200, 15], ["one", oneLayer, 6000, 2000]] as const) {
  for (let r = 0; r < 3; r++) {
    const a = await handLoop(setup()), b = await handLoop(setup());
    const ta: number[] = [], tb: number[] = [];
    for (let i = 0; i < n + w; i++) {
      const t0 = performance.now(); a(); const t1 = performance.now(); b(); const t2 = performance.now();
      if (i >= w) { ta.push((t1 - t0) * 1000); tb.push((t2 - t1) * 1000); }
      if (i % 100 === 0) await new Promise((r) => setImmediate(r));
    }
    console.log(name, p10(ta).toFixed(1), p10(tb).toFixed(1), median(ta).toFixed(1), median(tb).toFixed(1));
  }
}
