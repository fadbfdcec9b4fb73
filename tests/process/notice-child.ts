// A short training run that sends notices, in a process of its own, for notices.test.ts: it says when it ends, then goes.
import { heartbeat } from "../../src/hooks/heartbeat.ts";
import { webhook } from "../../src/hooks/webhook.ts";
import { tinyTrainer } from "../../src/testing/index.ts";

const url = process.argv[2]!;
const local = { allowHttp: true, allowPrivate: true };
const trainer = tinyTrainer({
  epochs: 3,
  hooks: [
    webhook({ url, on: ["epochEnd", "trainEnd"], ...local }),
    webhook({ url, on: ["trainEnd"], name: "another", ...local }),
    heartbeat({ url, every: 1, ...local }),
  ],
  warn: () => undefined,
});
trainer.on("trainEnd", () => console.log(Date.now()));
await trainer.fit();
