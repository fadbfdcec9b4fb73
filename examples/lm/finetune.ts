// The model of pretrain.ts writes on when it is asked something. A minute of LoRA on a few hundred conversations teaches it
// to answer with a title, a genre and a plot, and to stop: `npx tsx examples/lm/finetune.ts` shows both side by side.
import { writeFileSync } from "node:fs";
import { modelCheckpoint, progressBar, Trainer } from "hookline";
import { generate, loadModel, lora, readExamples, saveModel, sft } from "hookline/lm";
import { adamw, cosine } from "hookline/optim";
import { films } from "./plots.ts";

const quick = process.argv.includes("--quick"); // the tests run it so: a few steps
const folder = process.env.LM_FOLDER ?? "models/plots";
const runDir = process.env.LM_RUN ?? "runs/pitches";
const count = quick ? 24 : 1200;
const GENRES = ["Comedy", "Horror", "Western", "Science Fiction", "Romance", "War"];

/** Small JSON lines, as one would collect them: somebody asks, and the answer has the form that one wants. */
const asks = ["Pitch me a film. Genre: ", "I want to see something new. Genre: ", "What shall we shoot next? Genre: "];
const conversations = films()
  .flatMap((film) => {
    const genre = film.genres.find((each) => GENRES.includes(each));
    return genre === undefined || film.title.length > 30 ? [] : [{ ...film, genre }];
  })
  .slice(0, count)
  .map(({ title, plot, genre }, i) => ({
    messages: [
      { role: "user", content: `${asks[i % asks.length]}${genre}.` },
      {
        role: "assistant",
        content: `TITLE: ${title}\nGENRE: ${genre}\nPLOT: ${plot.split(". ")[0]!.replace(/\.?$/, ".")}`,
      },
    ],
  }));
writeFileSync("pitches.jsonl", conversations.map((each) => `${JSON.stringify(each)}\n`).join(""));

const model = await loadModel(folder, { adapter: lora({ rank: 16 }) });
const data = await readExamples("pitches.jsonl", model, { length: quick ? 64 : 128, val: 0.1 });
console.log(data.summary());

const trainer = new Trainer({
  ...sft(model, data, { batchSize: quick ? 2 : 8 }),
  optimizer: adamw({ lr: 5e-3 }),
  schedule: cosine({ warmup: "5%" }),
  clipNorm: 1,
  ...(quick ? { steps: 3 } : { epochs: 3 }),
  runDir,
  hooks: [progressBar(), modelCheckpoint({ monitor: "val/loss" })],
});
const questions = GENRES.slice(0, quick ? 1 : 4).map((genre) => [
  { role: "user", content: `Pitch me a film. Genre: ${genre}.` },
]);
const write = () =>
  generate(trainer, questions, { maxTokens: quick ? 8 : 70, temperature: 0.6, topP: 0.9, seed: 1 }).text();

const before = await write(); // the adapter adds nothing yet: this is the model of pretrain.ts
await trainer.fit();
const after = await write();
sideBySide(before, after);
await saveModel(trainer, `${runDir}/merged`, { merge: true, overwrite: true });
await trainer.close();
await model.tokenizer.close();
console.log(`\nTalk to it: npx hookline chat ${runDir}/merged`);

function sideBySide(left: readonly string[], right: readonly string[]): void {
  const width = 56;
  const wrap = (text: string): string[] =>
    text.split("\n").flatMap((line) => line.match(new RegExp(`.{1,${width}}(?: |$)|.{1,${width}}`, "g")) ?? [""]);
  for (const [i, [question]] of questions.entries()) {
    console.log(`\n— ${question!.content}`);
    const [a, b] = [wrap(left[i]!), wrap(right[i]!)];
    console.log(`${"BEFORE".padEnd(width)} │ AFTER`);
    for (let line = 0; line < Math.max(a.length, b.length); line++)
      console.log(`${(a[line] ?? "").padEnd(width)} │ ${b[line] ?? ""}`);
  }
}
