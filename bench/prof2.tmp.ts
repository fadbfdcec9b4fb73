import { Trainer } from "hookline";
import { mlp, oneLayer } from "./lib/models.ts";
const which = process.env.M === "one" ? oneLayer : mlp;
const tr = new Trainer({ ...which(), steps: Number(process.env.N ?? 600), engine: "wasm", signals: false });
await tr.fit();
