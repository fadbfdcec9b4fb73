// A thread that helps with the steps of programs. It waits in one loop for whatever is published, and reads messages
// from its port by itself. It ends when asked to stop, outside native code.
import { builtin } from "../../../platform/builtin.ts";
import { Blas } from "../blas.ts";
import { Products } from "../products.ts";
import { bindKernels } from "../wasm/compile.ts";
import { Control, Stopping } from "./control.ts";
import { bindPart, type Run } from "./parts.ts";
import { growMemory, loadAlias } from "../memory.ts";
import type { FromThread, ThreadStart, ToThread } from "./pool.ts";

interface Program {
  readonly addresses: Float64Array;
  readonly runs: readonly (Run | undefined)[];
}

const { receiveMessageOnPort, workerData } = builtin("A thread of the native engine", "node:worker_threads");
const { thread, cells, memory, address, blas, port } = workerData as ThreadStart;
const control = new Control(cells);
const programs = new Map<number, Program>();

function loadProducts(): Products {
  const alias = loadAlias()!;
  let pages = -1;
  let plain: ArrayBuffer;
  const numbers = {
    get plain() {
      if (pages !== control.pages) {
        ({ pages } = control);
        // Growing by nothing shows what another thread has grown.
        growMemory(memory, address, 0);
        plain = alias(new Uint8Array(memory.buffer));
      }
      return plain;
    },
  };
  return new Products(numbers, blas === undefined ? undefined : new Blas(blas));
}

function listen(products: Products): void {
  for (;;) {
    const received = receiveMessageOnPort(port);
    if (!received) return;
    const message = received.message as ToThread;
    if ("forget" in message) {
      programs.delete(message.forget);
      continue;
    }
    const kernels = bindKernels(message.module, memory);
    programs.set(message.program, {
      addresses: message.addresses,
      // One session at a time: a thread that is asked to stop meanwhile makes no more of them.
      runs: message.parts.map((part) => part && control.native(thread, () => bindPart(part, kernels, products))),
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
    control.native(thread, () => run(known.addresses));
  } catch (error) {
    failed = true;
    port.postMessage({ failure: error instanceof Error ? error.message : String(error) } satisfies FromThread);
  }
  control.reportDone(thread, number, failed);
}

function helpUntilStopped(products: Products): void {
  let messagesRead = 0;
  for (;;) {
    const heard = control.heard(thread);
    if (!heard) return;
    const { messages } = control;
    if (messages !== messagesRead) {
      messagesRead = messages;
      listen(products);
    }
    if (heard.isAsked) help();
    control.awaitNews(heard);
  }
}

try {
  const products = control.native(thread, loadProducts);
  try {
    helpUntilStopped(products);
  } finally {
    control.native(thread, () => products.close(), true);
  }
} catch (error) {
  if (!(error instanceof Stopping)) throw error;
}
