// npm run walk: a map of the code, from V8's coverage of real runs: through which files and functions each journey goes.
// `npm run walk -- step` shows only journeys whose name contains the word; `--functions` lists functions too.
import { Coverage } from "./coverage.ts";

const [words, flags] = [process.argv.slice(2).filter((a) => !a.startsWith("--")), process.argv.slice(2)];
const coverage = new Coverage();
const { JOURNEYS } = await import("./journeys.ts");
for (const { name, budget, walk } of JOURNEYS.filter((each) => words.every((word) => each.name.includes(word)))) {
  const visited = await walk(coverage);
  const count = visited.reduce((sum, { functions }) => sum + functions.length, 0);
  const limit = budget === undefined ? "" : ` (at most ${budget})`;
  console.log(`${name}: ${visited.length} files${limit}, ${count} functions`);
  for (const { file, functions } of visited) {
    const listed = flags.includes("--functions") ? `  ${functions.join(", ")}` : `  ${functions.length}`;
    console.log(`  ${file.padEnd(44)}${listed}`);
  }
  console.log();
}
coverage.stop();
