// A run that has secrets everywhere, in a process of its own, for secrets.test.ts.
import { logger, modelCheckpoint, text, webhook, type Hook } from "../../src/index.ts";
import { csv, jsonl, mlflow, tensorboard, wandb, type LoggerBackend } from "../../src/loggers/index.ts";
import { tinyTrainer } from "../../src/testing/index.ts";
import { plants } from "./secrets-plants.ts";

const [how, runDir, url] = process.argv.slice(2) as ["completes" | "stops" | "fails", string, string];
const { settings, words, service } = plants();

const talkative: Hook = {
  name: "talkative",
  onError: "warn",
  onStepBegin(ctx) {
    if (ctx.step === 2) ctx.skip("step", words.why);
  },
  onStepEnd(ctx) {
    ctx.log({ drift: ctx.step, note: text(words.text) });
    if (ctx.step === 3) throw new Error(words.hookError);
  },
};

const ending: Hook = {
  name: "ending",
  onStepEnd(ctx) {
    if (ctx.step < 6 || how === "completes") return;
    if (how === "fails") throw new Error(words.failure);
    ctx.stop(words.stop);
  },
};

const broken: LoggerBackend = {
  name: "broken",
  open: () => undefined,
  log() {
    throw new Error(words.backendError);
  },
  close: () => undefined,
};

const host = url.replace("http://", "");
const quick = { sendEvery: 20, backoff: 20, timeout: 2000 };
const backends = [
  "console" as const,
  jsonl(),
  csv(),
  tensorboard(),
  wandb({ baseUrl: url, apiKey: service.wandbKey, project: "p", ...quick }),
  mlflow({ uri: `http://ann:${service.mlflowPassword}@${host}`, tags: { tag: words.tag }, ...quick }),
  broken,
];
const notices = webhook({
  url: `${url}/notice/${service.webhookToken}`,
  on: ["trainBegin", "epochEnd", "trainEnd", "exception"],
  allowHttp: true,
  allowPrivate: true,
});
const checkpoints = modelCheckpoint({ every: "2 steps", monitor: "train/loss", saveLast: true });
const hooks = [
  talkative,
  ending,
  notices,
  checkpoints,
  logger(backends, { hparams: settings as never, run: words.run }),
  // For people too: `.wandb` files.
  logger([wandb({ mode: "offline", project: "p" })], { name: "offline", hparams: settings as never, run: words.run }),
];
const trainer = tinyTrainer({ runDir, epochs: 3, logEvery: 1, hooks });
try {
  const { status } = await trainer.fit();
  console.log(status);
} catch {
  console.log("error");
}
await trainer.close();
