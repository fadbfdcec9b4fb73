import { Trainer } from "hookline";
import { handLoop } from "./lib/hand-loop.ts";
import { mlp, oneLayer } from "./lib/models.ts";
import { JaxEngine } from "../src/engines/jax/jax-engine.ts";
import { median, p10 } from "./lib/stats.ts";
const setup = process.env.M === "one" ? oneLayer : mlp; const N = Number(process.env.N ?? 300);
const T: Record<string, number[]> = {}; let last = 0; 
const mark = (k: string) => { const t = performance.now(); (T[k] ??= []).push((t - last) * 1000); last = performance.now(); };
const { train, ...o } = setup();
const hand = await handLoop(setup());
const proto = JaxEngine.prototype as any; let inTrainer = false;
const jit = proto.jit; proto.jit = function (...a: any[]) { const f = jit.apply(this, a); return (...b: any[]) => { if (inTrainer) mark("before jit"); const r = f(...b); if (inTrainer) mark("jit"); return r; }; };
const l: any = { length: train.length, begin: (e: number, s: number) => train.begin(e, s), next() {
  mark("to next"); inTrainer = false; hand(); inTrainer = true; mark("hand");
  const b = train.next(); mark("next"); return b; }, skip: () => train.skip(), state: () => train.state(), load: () => undefined };
const tr = new Trainer({ ...o, train: l, steps: N, engine: "wasm", signals: false, hooks: [{ name: "t",
 onStepBegin: () => mark("stepBegin"), onBeforeFetch: () => mark("beforeFetch"), onBatchBegin: () => mark("batchBegin"), onBeforeForward: () => mark("beforeForward"), onBatchEnd: () => mark("batchEnd"), onStepEnd: () => mark("stepEnd") }] });
await tr.fit();
for (const [k, v] of Object.entries(T)) { const w = v.slice(v.length / 4); console.log(k.padEnd(20), v.length, p10(w).toFixed(2), median(w).toFixed(2)); }
