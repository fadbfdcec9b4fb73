// One save through the writing thread, in a process of its own; its output says what was loaded.
import { openDirectoryStore } from "../../src/checkpoint/stores/directory-store.ts";
import { filesOf, infoOf } from "./scenario.ts";

const [root] = process.argv.slice(2) as [string];
const store = await openDirectoryStore(root);
await store.save("step-1", filesOf(1), infoOf({ name: "", step: 1, loss: 1 }));
const { checkpoint } = await store.load();
process.stdout.write(checkpoint.name);
// Not closed: an idle thread must not keep the process.
