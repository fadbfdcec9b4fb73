// Writes to a journal where files may have 512 or 1024 bytes: a line that does not fit, and then one that does.
import { writeSync } from "node:fs";
import { openJournal } from "../../src/tune/journal.ts";

const journal = openJournal(process.argv[2]!);
journal.append({
  type: "study",
  version: 2,
  name: "full",
  space: {},
  objectives: [],
  seed: 0,
  sampler: "random",
  scheduler: "none",
  at: 0,
});
let refused = false;
try {
  journal.append({ type: "suggested", trial: 0, params: { text: "x".repeat(2000) }, at: 0 });
} catch {
  refused = true;
}
journal.append({ type: "ended", status: "error", reason: "short", at: 0 });
journal.close();
writeSync(1, JSON.stringify({ refused }));
