// The process that measure.ts starts: runs the benchmark of the name it is given, and tells what came out.
import { BENCHMARKS } from "../benchmarks.ts";
import type { Answer } from "./measure.ts";

async function answer(name: string): Promise<Answer> {
  try {
    const { run } = await BENCHMARKS[name]!();
    return { reports: [await run()].flat() };
  } catch (error) {
    return { failed: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

const result = await answer(process.argv[2]!);
process.send!(result, () => process.disconnect());
