// npm run walk: a map of the code, from V8's coverage of real runs: through which files and functions each journey goes.
// `npm run walk -- step` shows only journeys whose name contains the word; `--functions` lists functions too.
import { Coverage, inAll, type Visited } from "./coverage.ts";

/** A timer may fire on the way, such as that of a lock. A journey that seems too long is repeated: what all walks pass counts. */
const WALKS = 3;

const [words, flags] = [process.argv.slice(2).filter((a) => !a.startsWith("--")), process.argv.slice(2)];
const coverage = new Coverage();
const { JOURNEYS } = await import("./journeys.ts");
for (const { name, budget, walk } of JOURNEYS.filter((each) => words.every((word) => each.name.includes(word)))) {
  const walks: Visited[][] = [];
  let visited: Visited[];
  do {
    walks.push(await walk(coverage));
    visited = inAll(walks);
  } while (walks.length < WALKS && visited.length > (budget ?? Infinity));
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
