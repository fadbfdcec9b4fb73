// Saves and prunes as fast as it can, with the writing thread, until it is killed.
import { openDirectoryStore } from "../../src/checkpoint/stores/directory-store.ts";
import { retain } from "../../src/checkpoint/retention.ts";
import { filesOf, infoOf } from "./scenario.ts";

const [root] = process.argv.slice(2) as [string];
const store = await openDirectoryStore(root);
const known = await store.list();
let step = known.at(-1)?.step ?? 0;
process.stdout.write(`open ${step}\n`);
for (;;) {
  step++;
  const save = { name: step % 3 === 0 ? "best" : `step-${step}`, step, loss: 1 / step };
  await store.save(save.name, filesOf(step, 60_000), infoOf(save));
  // What was said to be saved must be there, whatever comes.
  process.stdout.write(`saved ${step}\n`);
  await store.remove(retain(await store.list(), { saveTotalLimit: 3 }).remove);
}
