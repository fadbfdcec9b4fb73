// The thread in which a tokenizer's patterns and a model's chat template run: see text-runner.ts.
import { serve, threadData } from "../../platform/thread.ts";
import { TextProcessor } from "./text-processor.ts";
import { apply, CELL, type TextRequest, type TextThreadStart } from "./text-runner.ts";

const { files, cells } = threadData() as TextThreadStart;

/** What the other thread looks at when an answer is late. */
function tick(characters: number, line: number): void {
  Atomics.store(cells, CELL.characters, characters);
  Atomics.store(cells, CELL.line, line);
  Atomics.add(cells, CELL.begun, 1);
}

const loading = TextProcessor.load(files, tick);
// Reported as the answer to the first request.
loading.catch(() => {});

serve(async (request: TextRequest | { readonly facts: true }): Promise<unknown> => {
  const processor = await loading;
  if ("facts" in request) return processor.facts;
  tick(JSON.stringify(request.args).length, 0);
  return apply(processor, request);
});
