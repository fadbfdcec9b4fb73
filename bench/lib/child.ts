// The process that measure.ts starts: runs the benchmark of the name it is given, and tells what came out.
import { BENCHMARKS } from "../benchmarks.ts";
import type { Told } from "./measure.ts";

async function told(name: string): Promise<Told> {
  try {
    const { run } = await BENCHMARKS[name]!();
    return { reports: [await run()].flat() };
  } catch (error) {
    return { failed: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

const result = await told(process.argv[2]!);
process.send!(result, () => process.disconnect());
