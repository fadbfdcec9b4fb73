// A thread that helps with the steps of programs. It waits in one loop for whatever is published, and never returns from
// it: what it is told comes through a port that it reads by itself.
import { receiveMessageOnPort, workerData, type MessagePort } from "node:worker_threads";
import { Products } from "../matmul/products.ts";
import { bindKernels } from "../wasm/compile.ts";
import { Control } from "./control.ts";
import { bindPart, type Run } from "./parts.ts";
import { loadAlias } from "./plain.ts";
import type { FromThread, ThreadStart, ToThread } from "./team.ts";

interface Program {
  readonly addresses: Uint32Array;
  readonly runs: readonly (Run | undefined)[];
}

const { thread, cells, memory, port: given } = workerData as ThreadStart;
const port = given as MessagePort;
const control = new Control(cells);
const programs = new Map<number, Program>();
const alias = loadAlias()!;
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
    const received = receiveMessageOnPort(port) as { message: ToThread } | undefined;
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
    port.postMessage({ failure: error instanceof Error ? error.message : String(error) } satisfies FromThread);
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
