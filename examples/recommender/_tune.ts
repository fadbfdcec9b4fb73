import { Trainer, ema, earlyStopping } from "hookline";
import { adam, cosine } from "hookline/optim";
import { leaveOneOut } from "hookline/experiment";
import { ratings } from "./data.ts";
import { kCore } from "./interactions.ts";
import { hitRate, mrr, ndcg } from "./ranking-metrics.ts";
import { bprLoaders, twoTowerLoaders } from "./loaders.ts";
import { bpr } from "./bpr.ts";
import { twoTower } from "./two-tower.ts";
const metrics = { "ndcg@10": ndcg({ k: 10 }), "hr@10": hitRate({ k: 10 }), mrr: mrr() };
const { main: datasets } = (await leaveOneOut({ by: "user", time: "timestamp" })(kCore(ratings(), 5) as any, 0)) as any;
for (const line of process.argv.slice(2)) {
  const t = performance.now();
  const cpu = process.cpuUsage();
  const o = JSON.parse(line);
  const setup = { datasets, seed: o.seed ?? 0 } as any;
  const model =
    o.m === "bpr"
      ? bpr({ factors: o.f, regularisation: o.reg }, setup)
      : twoTower({ factors: o.f, hidden: o.hid ?? 64, dropout: o.drop ?? 0, temperature: o.temp ?? 0.1 }, setup);
  const loaders =
    o.m === "bpr"
      ? bprLoaders({ batchSize: o.bs ?? 1024, negatives: o.neg ?? 1 }, setup)
      : twoTowerLoaders({ batchSize: o.bs ?? 512 }, setup);
  const hist: string[] = [];
  let best: any = {};
  const tr = new Trainer({
    model,
    metrics,
    optimizer: adam({ lr: o.lr, weightDecay: o.wd ?? 0 }),
    ...(o.cos ? { schedule: cosine({ warmup: "5%" }) } : {}),
    train: loaders.train,
    eval: loaders.eval!,
    epochs: o.ep,
    seed: o.seed ?? 0,
    signals: false,
    evalEvery: `${o.every ?? 1} epochs`,
    hooks: [
      {
        name: "h",
        onEvalEnd(ctx) {
          const v = ctx.metrics["val/ndcg@10"]!;
          hist.push(v.toFixed(3).slice(1));
          if (v > (best["val/ndcg@10"] ?? 0)) best = { ...ctx.evalMetrics, epoch: ctx.epoch };
        },
      },
      ...(o.ema ? [ema({ decay: o.ema })] : []),
      earlyStopping({ monitor: "val/ndcg@10", patience: o.pat ?? 5 }),
    ],
  });
  await tr.fit();
  const used = process.cpuUsage(cpu);
  console.log(
    line,
    "\n   ",
    Object.entries(best)
      .map(([k, v]) => `${k} ${(v as number).toFixed(4)}`)
      .join("  "),
    `| ${((performance.now() - t) / 1000).toFixed(0)} s, cpu ${(used.user / 1e6).toFixed(0)} s |`,
    hist.join(" "),
  );
  await tr.close();
}
