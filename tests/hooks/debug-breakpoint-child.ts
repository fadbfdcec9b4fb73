// Trains with `debug({ breakpoint: true })` while a thread plays the debugger: prints the steps at which it paused.
import { Worker } from "node:worker_threads";
import { debug } from "hookline";
import { DataLoader } from "hookline/data";
import { tinyData, tinyTrainer } from "hookline/testing";

const debuggerThread = new Worker(
  `
  const { Session } = require("node:inspector");
  const { parentPort } = require("node:worker_threads");
  const session = new Session();
  session.connectToMainThread();
  session.on("Debugger.paused", ({ params }) => {
    const { callFrameId } = params.callFrames[0];
    session.post("Debugger.evaluateOnCallFrame", { callFrameId, expression: "ctx.step" }, (error, answer) => {
      parentPort.postMessage(error ? String(error.message) : answer.result.value);
      session.post("Debugger.resume");
    });
  });
  session.post("Debugger.enable", () => parentPort.postMessage("ready"));
  parentPort.on("message", () => parentPort.postMessage("done"));
  `,
  { eval: true },
);

const paused: unknown[] = [];
const said = (word: string): Promise<void> =>
  new Promise((resolve) => debuggerThread.on("message", (message) => message === word && resolve()));
debuggerThread.on("message", (message) => {
  if (message !== "ready" && message !== "done") paused.push(message);
});

await said("ready");
const { x, y } = tinyData(16);
// The third of four batches.
(x.data as Float32Array)[26] = Number.NaN;
const train = new DataLoader({ x, y }, { batchSize: 4 });
await tinyTrainer({ train, warn() {}, hooks: [debug({ breakpoint: true, print() {} })] }).fit();
const done = said("done");
debuggerThread.postMessage("end");
await done;
console.log(JSON.stringify(paused));
await debuggerThread.terminate();
