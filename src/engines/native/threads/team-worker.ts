// A thread that helps with the steps of programs. It waits in one loop for whatever is published, and never returns from
// it: what it is told comes through a port that it reads by itself.
import { builtin } from "../../../platform/builtin.ts";
import { Products } from "../matmul/products.ts";
import { bindKernels } from "../wasm/compile.ts";
import { Control } from "./control.ts";
import { bindPart, type Run } from "./parts.ts";
import { loadAlias } from "./plain.ts";
import type { FromThread, ThreadStart, ToThread } from "./team.ts";

interface Port {
  postMessage(message: FromThread): void;
}

interface Threads {
  readonly workerData: ThreadStart;
  readonly parentPort: { postMessage(message: "loaded"): void };
  receiveMessageOnPort(port: Port): { readonly message: ToThread } | undefined;
}

interface Program {
  readonly addresses: Uint32Array;
  readonly runs: readonly (Run | undefined)[];
}

const { receiveMessageOnPort, workerData, parentPort } = builtin<Threads>(
  "A thread of the native engine",
  "node:worker_threads",
);
const { thread, cells, memory } = workerData;
const port = workerData.port as Port;
const control = new Control(cells);
const programs = new Map<number, Program>();
const alias = loadAlias()!;
parentPort.postMessage("loaded");
let pages = -1;
let plain: ArrayBuffer;

const products = new Products({
  get plain() {
    if (pages !== control.pages) {
      ({ pages } = control);
      // Growing by nothing shows what another thread has grown.
      memory.grow(0);
      plain = alias(new Uint8Array(memory.buffer));
    }
    return plain;
  },
});

function listen(): void {
  for (;;) {
    const received = receiveMessageOnPort(port);
    if (!received) return;
    const { message } = received;
    if ("forget" in message) {
      programs.delete(message.forget);
      continue;
    }
    const kernels = bindKernels(message.module, memory);
    programs.set(message.program, {
      addresses: message.addresses,
      runs: message.parts.map((part) => part && bindPart(part, kernels, products)),
    });
  }
}

function help(): void {
  const { number, program, step } = control.published;
  const known = programs.get(program);
  const run = known?.runs[step];
  if (!run || !control.claim(thread, number)) return;
  let failed = false;
  try {
    run(known.addresses);
  } catch (error) {
    failed = true;
    port.postMessage({ failure: error instanceof Error ? error.message : String(error) });
  }
  control.reportDone(thread, number, failed);
}

for (let heard = 0; ;) {
  const { waking, messages } = control;
  if (messages !== heard) {
    heard = messages;
    listen();
  }
  help();
  control.awaitNews(waking);
}
