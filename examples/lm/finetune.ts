// The model of pretrain.ts writes prose about films. A minute of LoRA on 900 conversations teaches it to answer with a
// record of the facts: `npx tsx examples/lm/finetune.ts`. It is tested on films that it has never seen, before and after.
import { existsSync } from "node:fs";
import { progressBar, Trainer } from "hookline";
import { generate, loadModel, lora, readExamples, saveModel, sft } from "hookline/lm";
import { adamw, cosine } from "hookline/optim";
import { exchangeOf, factsOf, readFilms } from "./films.ts";

const quick = process.argv.includes("--quick"); // the tests run it so: a few steps
const folder = process.env.LM_FOLDER ?? "models/films";
const out = process.env.LM_OUT ?? "models/records";
const TESTED = quick ? 4 : 100;
const FACTS = 3;
if (!existsSync(folder)) await import("./pretrain.ts");

const exchanges = (await readFilms()).heldBack.map(exchangeOf);
const [taught, tested] = [exchanges.slice(0, quick ? 24 : -TESTED), exchanges.slice(-TESTED)];
/** JSON lines, as one would collect them. */
const linesOf = (some: typeof exchanges) => ({
  text: some
    .map(({ question, answer }) => ({
      messages: [
        { role: "user", content: question },
        { role: "assistant", content: answer },
      ],
    }))
    .map((line) => JSON.stringify(line))
    .join("\n"),
});

const model = await loadModel(folder, { adapter: lora({ rank: 16 }) });
const data = await readExamples(linesOf(taught), model, { length: quick ? 128 : 256 });
const unseen = await readExamples(linesOf(tested), model, { length: 256 });
console.log(data.summary());

const trainer = new Trainer({
  ...sft(model, data, { batchSize: quick ? 2 : 4 }),
  optimizer: adamw({ lr: 5e-3 }),
  schedule: cosine({ warmup: "5%" }),
  clipNorm: 1,
  ...(quick ? { steps: 3 } : { epochs: 6 }),
  hooks: [progressBar({ memory: true })],
});

/** The likeliest answers, and how good they are. */
async function examine() {
  const questions = tested.map(({ question }) => [{ role: "user", content: question }]);
  const answers: string[] = [];
  for (let from = 0; from < questions.length; from += 25)
    answers.push(...(await generate(trainer, questions.slice(from, from + 25), { maxTokens: quick ? 4 : 30 }).text()));
  const { "unseen/perplexity": perplexity } = await trainer.evaluate(unseen.loader({ batchSize: 4 }), {
    name: "unseen",
  });
  const right = tested.map(({ answer }, i) => {
    const written = factsOf(answers[i]!);
    return factsOf(answer).filter((fact, k) => written[k] === fact).length;
  });
  return {
    answers,
    perplexity: perplexity!,
    facts: right.reduce((sum, count) => sum + count, 0) / (FACTS * TESTED),
    records: right.filter((count) => count === FACTS).length / TESTED,
  };
}

const before = await examine(); // the adapter adds nothing yet: this is the model of pretrain.ts
await trainer.fit();
const after = await examine();

const WIDTH = 56;
const line = (left: string, right: string): void => console.log(`${left.padEnd(WIDTH)} │ ${right}`);
const wrapped = (text: string): string[] =>
  text
    .trim()
    .split("\n")
    .flatMap((each) => each.match(new RegExp(`.{1,${WIDTH}}(?: |$)`, "g")) ?? [""]);
for (const [i, { question }] of tested.slice(0, 4).entries()) {
  console.log(`\n— ${question}`);
  line("BEFORE", "AFTER");
  const [a, b] = [wrapped(before.answers[i]!), wrapped(after.answers[i]!)];
  for (let row = 0; row < Math.max(a.length, b.length); row++) line(a[row] ?? "", b[row] ?? "");
}
const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
console.log(`\n${TESTED} films that it has never seen`);
line("BEFORE", "AFTER");
line(`perplexity of the answers ${before.perplexity.toFixed(1)}`, after.perplexity.toFixed(2));
line(`facts that are right ${percent(before.facts)}`, percent(after.facts));
line(`records that are right ${percent(before.records)}`, percent(after.records));

await saveModel(trainer, out, { merge: true, overwrite: true });
await trainer.close();
await model.tokenizer.close();
console.log(`\nTalk to it: npx hookline chat ${out}`);
