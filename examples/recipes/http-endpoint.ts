// A model behind an HTTP endpoint of your own: `npx tsx examples/recipes/http-endpoint.ts`. `hookline serve` needs no code;
// this is for an application that has other routes too. The handler takes a Request and returns a Response, so it fits
// hono, as here, and in the same way Next.js, Bun, Deno and Cloudflare's workers.
import { mkdtempSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { modelCheckpoint } from "hookline";
import { Rng, Table } from "hookline/data";
import { Experiment, holdout } from "hookline/experiment";
import { mlp, mse, r2 } from "hookline/nn";
import { adam } from "hookline/optim";
import { createPredictHandler, loadPredictor } from "hookline/predict";
import { Hono } from "hono";

const quick = process.argv.includes("--quick"); // the tests run it so

// ---------------------------------------------------------------------------------------------------------------------
// A model to serve: the rent of a flat. The flats are made up. The run's directory is all that the server needs.
const rng = new Rng(5);
const districts = { Centre: 9, Harbour: 5, Hills: 3 };
const flats = Array.from({ length: quick ? 500 : 5000 }, () => {
  const district = Object.keys(districts)[Math.floor(3 * rng.next())] as keyof typeof districts;
  const area = 30 + Math.floor(120 * rng.next());
  const rent = 200 + area * (8 + districts[district]) + 60 * rng.normal();
  return { area: rng.next() < 0.05 ? null : area, district, balcony: rng.next() < 0.5, rent };
});
const runDir = join(mkdtempSync(join(tmpdir(), "rents-")), "run");
const { models } = await new Experiment({
  data: () => Table.fromRows(flats),
  split: holdout({ val: 0.1, test: 0.2 }),
  preprocess: { columns: "auto", target: "rent" },
  model: mlp({ hidden: [16] }),
  loss: mse(),
  metrics: { r2: r2() },
  optimizer: adam({ lr: 0.01 }),
  loader: { batchSize: 50 },
  epochs: 20,
  runDir,
  hooks: [modelCheckpoint({ monitor: "val/loss" })],
}).run();
console.log(`R² on the test data: ${models["model"]!.results["test/r2"]!.toFixed(2)}`);

// ---------------------------------------------------------------------------------------------------------------------
// The application.
const predict = await loadPredictor(runDir);
await predict.warmUp(); // compiles now, not during the first request
const handler = createPredictHandler(predict);

const app = new Hono();
app.get("/", (c) => c.text("Rents of flats. POST a flat to /rent.\n"));
app.all("/rent", (c) => handler(c.req.raw));

const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: quick ? 0 : 8000 });
server.on("listening", () => void ask(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));

/** What a client does, and what it gets: a rent, many rents, and for a flat that cannot be right the column's name. */
async function ask(address: string): Promise<void> {
  const flat = { area: 80, district: "Harbour", balcony: true };
  for (const body of [flat, [flat, { ...flat, area: null }], { ...flat, area: "large" }]) {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${address}/rent`, { method: "POST", headers, body: JSON.stringify(body) });
    console.log(answer.status, await answer.text());
  }
  if (quick) process.emit("SIGINT");
  else console.log(`${address} answers until Ctrl-C.`);
}

process.once("SIGINT", () => {
  server.close(() => void predict.close());
});
