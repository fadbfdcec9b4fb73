// How much a predictor keeps: heap and buffers after many calls, good and bad ones, alone and at the same time.
import { loadPredictor, type InputRow } from "hookline/predict";
import { heapInUse } from "./heap.ts";
import type { LiveBuffers } from "./live-buffers.ts";

const row = (i: number): InputRow => ({
  age: i % 9 === 0 ? null : 20 + (i % 50),
  plan: ["basic", "pro", "team"][i % 3]!,
  active: i % 2 === 0,
  since: "2023-05-06",
});

/** One round: a call alone, nine at the same time, one with several rows, and one that is refused. */
async function callRound(predict: Awaited<ReturnType<typeof loadPredictor>>, i: number): Promise<void> {
  await predict(row(i));
  await Promise.all(Array.from({ length: 9 }, (_, k) => predict(row(i + k))));
  await predict(Array.from({ length: 1 + (i % 40) }, (_, k) => row(i + k)));
  await predict({ ...row(i), age: "old" }).catch(() => undefined);
}

/** Calls in one round. */
const ROUND = 12;

const STRETCHES = 10;

/** Bytes of heap over all calls, judged by the quieter stretches: a leak is in every one, a compiler's find in some. */
export async function predictorGrowth(
  from: string,
  live: LiveBuffers,
  calls: number,
): Promise<{ heap: number; buffers: number }> {
  await using predict = await loadPredictor(from, { engine: "wasm", batchSizes: [1, 16, 64] });
  await predict.warmUp();
  const seen: { heap: number; buffers: number }[] = [];
  const rounds = Math.ceil(calls / ROUND / STRETCHES);
  for (let stretch = 0; stretch <= STRETCHES; stretch++) {
    for (let i = 0; i < rounds; i++) await callRound(predict, i);
    seen.push({ heap: heapInUse(), buffers: live.count });
  }
  const grown = seen.slice(1).map(({ heap }, i) => heap - seen[i]!.heap);
  const quiet = grown.sort((a, b) => a - b)[Math.floor(grown.length / 4)]!;
  return { heap: quiet * grown.length, buffers: seen.at(-1)!.buffers - seen[0]!.buffers };
}
