// readExamples: rows, labels, packing, validation, order and resume, over random examples and by hand.
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ReadExamplesOptions } from "../../../src/lm/text/examples/options.ts";
import { readExamples, type Examples } from "../../../src/lm/text/examples/read-examples.ts";
import { loadTokenizer, type LoadedTokenizer } from "../../../src/lm/text/tokenizer.ts";
import { filesOf, readFixture } from "./tokenizer-fixtures.ts";
import { batchesOf, countedOf, segmentsOf } from "./read-rows.ts";

let tokenizer: LoadedTokenizer;

beforeAll(async () => {
  const chatml =
    "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}";
  tokenizer = await loadTokenizer(filesOf("byte-level", { chat_template: chatml, eos_token: "<|endoftext|>" }));
});

afterAll(() => tokenizer.close());

const jsonl = (lines: readonly object[]): { text: string } => ({
  text: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
});
const read = (lines: readonly object[], options?: ReadExamplesOptions): Promise<Examples> =>
  readExamples(jsonl(lines), tokenizer, options);
const user = (content: string): object => ({ role: "user", content });
const assistant = (content: string): object => ({ role: "assistant", content });
const idsOf = (text: string): number[] => [...tokenizer.encode(text, { addSpecialTokens: false })];
const decoded = (ids: readonly number[]): string => tokenizer.decode(ids);

const word = fc.constantFrom("The river", " rises", "é", "\n", "河水", " 12", "👩‍👧", "x");
const content = fc
  .array(word, { minLength: 1, maxLength: 12 })
  .map((words) => words.join(""))
  .filter((text) => text.trim() !== "");
const conversation = fc
  .array(fc.record({ question: content, answer: content }), { minLength: 1, maxLength: 3 })
  .map((turns) => ({ messages: turns.flatMap(({ question, answer }) => [user(question), assistant(answer)]) }));
const example = fc.array(conversation, { minLength: 1, maxLength: 12 });

test("labels that count are the same packed, padded and alone", async () => {
  await fc.assert(
    fc.asyncProperty(
      example,
      fc.constantFrom("assistant" as const, "last" as const, "all" as const),
      async (lines, loss) => {
        const options = { loss, length: 1000, tooLong: "error" as const };
        const packed = await segmentsOf((await read(lines, options)).loader({ batchSize: 3 }));
        const padded = await segmentsOf((await read(lines, { ...options, pack: false })).loader({ batchSize: 3 }));
        const alone = await Promise.all(
          lines.map(async (line) => segmentsOf((await read([line], options)).loader({ batchSize: 1 }))),
        );
        expect(countedOf(packed)).toEqual(countedOf(padded));
        expect(countedOf(packed)).toEqual(countedOf(alone.flat()));
        for (const { positions } of packed) expect(positions).toEqual(positions.map((_, i) => i));
      },
    ),
    { numRuns: 25 },
  );
});

test("what counts is what the assistant says, with the end of its turn, each predicted from the token before", async () => {
  await fc.assert(
    fc.asyncProperty(conversation, async (line) => {
      const [segment] = await segmentsOf((await read([line], { length: 400 })).loader({ batchSize: 1 }));
      const { x, y } = segment!;
      const counted = y.filter((label) => label !== -100);
      const said = line.messages.flatMap((message) =>
        "role" in message && message.role === "assistant"
          ? [`${(message as unknown as { content: string }).content}<|im_end|>`]
          : [],
      );
      expect(decoded(counted)).toBe(said.join(""));
      for (const [i, label] of y.entries()) if (label !== -100 && i + 1 < x.length) expect(label).toBe(x[i + 1]);
    }),
    { numRuns: 25 },
  );
});

test("byte-level ids give the text back", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
      const normal = text.normalize("NFC");
      expect(decoded(idsOf(normal))).toBe(normal);
    }),
    { numRuns: 100 },
  );
});

describe("labels", () => {
  const counted = async (line: object, options?: ReadExamplesOptions): Promise<string[]> => {
    const segments = await segmentsOf((await read([line], { length: 400, ...options })).loader({ batchSize: 1 }));
    return segments.map(({ y }) => decoded(y.filter((label) => label !== -100)));
  };
  const two = { messages: [user("One?"), assistant("Uno."), user("Two?"), assistant("Due.")] };

  test("of a conversation: every answer, the last, or all", async () => {
    expect(await counted(two)).toEqual(["Uno.<|im_end|>Due.<|im_end|>"]);
    expect(await counted(two, { loss: "last" })).toEqual(["Due.<|im_end|>"]);
    expect(await counted(two, { loss: "all" })).toEqual([
      "user\nOne?<|im_end|>\n<|im_start|>assistant\nUno.<|im_end|>\n<|im_start|>user\nTwo?<|im_end|>\n<|im_start|>assistant\nDue.<|im_end|>\n",
    ]);
  });

  test("of a completion: itself and the end of the text", async () => {
    const line = { prompt: "2 + 2 =", completion: " 4" };
    expect(await counted(line)).toEqual([" 4<|endoftext|>"]);
    const [{ x } = { x: [] }] = await segmentsOf((await read([line])).loader({ batchSize: 1 }));
    // What the tokenizer puts before a text is there, and the last token is only predicted.
    expect(decoded(x)).toBe("<|endoftext|>2 + 2 = 4");
    expect(await counted({ prompt: [user("Hi")], completion: [assistant("Hello")] })).toEqual(["Hello<|im_end|>"]);
  });

  test("of a text: all of it and its end", async () => {
    expect(await counted({ text: "The river" })).toEqual(["The river<|endoftext|>"]);
  });

  test("of ids: where the labels are not -100, for the token itself", async () => {
    const [segment] = await segmentsOf(
      (await read([{ ids: [5, 6, 7, 8], labels: [-100, -100, 7, 8] }])).loader({ batchSize: 1 }),
    );
    expect(segment).toEqual({ x: [5, 6, 7], y: [-100, 7, 8], positions: [0, 1, 2] });
  });

  test("of a preference: both answers, side by side", async () => {
    const data = await read([{ prompt: "Best?", chosen: " This one.", rejected: " No idea, really not." }]);
    const [batch] = await batchesOf(data.loader({ batchSize: 1 }));
    expect(Object.keys(batch!)).toEqual(["x", "y", "rejectedX", "rejectedY", "row"]);
    const answer = (name: string): string => decoded([...batch![name]!.data].filter((label) => label !== -100));
    expect([answer("y"), answer("rejectedY")]).toEqual([
      " This one.<|endoftext|>",
      " No idea, really not.<|endoftext|>",
    ]);
    expect(batch!.x!.shape).toEqual([1, 64]);
  });

  // As Qwen3 does: thoughts are dropped from all turns but the last.
  const forgets =
    "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + (m.content if loop.last else m.content.split('</think>')[-1]) + '<|im_end|>\\n' }}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}";

  test("a template that rewrites earlier turns makes an example of each answer", async () => {
    const line = { messages: [user("A"), assistant("a</think>1"), user("B"), assistant("b</think>2")] };
    const data = await read([line], { template: forgets });
    const segments = await segmentsOf(data.loader({ batchSize: 1 }));
    expect(segments.map(({ x, y }) => decoded([...x, y.at(-1)!]))).toEqual([
      "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\na</think>1<|im_end|>",
      "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\n1<|im_end|>\n<|im_start|>user\nB<|im_end|>\n<|im_start|>assistant\nb</think>2<|im_end|>",
    ]);
    expect(segments.map(({ y }) => decoded(y.filter((label) => label !== -100)))).toEqual([
      "a</think>1<|im_end|>",
      "b</think>2<|im_end|>",
    ]);
    expect(data.statistics.examples).toBe(1);
  });

  test("a template's own {% generation %} is followed", async () => {
    const marks =
      "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}{{ '<|im_end|>\\n' }}{% endfor %}";
    expect(await counted(two, { template: marks })).toEqual(["Uno.Due."]);
    expect(await counted(two, { template: marks, loss: "last" })).toEqual(["Due."]);
  });

  test.each(["chatml", "llama3", "gemma", "mistral", "zephyr", "thinking", "generation"])("%s", async (name) => {
    const template = readFixture(`../templates/${name}.jinja`);
    const lines = [
      { messages: [user("One?"), assistant("Uno.")] },
      two,
      { messages: [user("A"), assistant("a"), user("B"), assistant("b"), user("C"), assistant("c")] },
    ];
    const end =
      { gemma: "<end_of_turn>", llama3: "<|eot_id|>", mistral: "<|endoftext|>", zephyr: "<|endoftext|>" }[name] ??
      "<|im_end|>";
    for (const line of lines) {
      const said = (line.messages as { role: string; content: string }[]).flatMap((m) =>
        m.role === "assistant" ? [m.content + end] : [],
      );
      const texts = await counted(line, { template });
      // What a template puts before an answer that it also puts after the prompt does not count; a thought does.
      expect(texts.join("").replaceAll("<think>\n\n</think>\n\n", "").replaceAll(/\s/g, "")).toBe(said.join(""));
    }
  });
});

test("tokenizers in the manner of SentencePiece: an answer's ids are those that follow its prompt", async () => {
  for (const name of ["llama", "metaspace", "gemma"]) {
    const own = await loadTokenizer(filesOf(name, { eos_token: name === "gemma" ? "<eos>" : "</s>" }));
    const data = await readExamples(jsonl([{ prompt: "The river", completion: " rises early" }]), own);
    const [segment] = await segmentsOf(data.loader({ batchSize: 1 }));
    const whole = own.encode("The river rises early");
    expect([...segment!.x]).toEqual([...whole]);
    await own.close();
  }
});

describe("long examples", () => {
  const lines = [
    { prompt: "x".repeat(50), completion: "y" },
    { prompt: "a", completion: "b".repeat(60) },
    { prompt: "a", completion: "b" },
  ];

  test("cut, and left out where nothing that counts is left", async () => {
    const data = await read(lines, { length: 16 });
    expect(data.statistics).toMatchObject({ examples: 3, cut: 2, dropped: 1 });
    expect(data.summary()).toMatch(/^3 completions, .* 2 cut, 1 left out, since nothing that counts was left$/);
    for (const { x } of await segmentsOf(data.loader({ batchSize: 1 }))) expect(x.length).toBeLessThanOrEqual(16);
  });

  test("dropped", async () => {
    expect((await read(lines, { length: 16, tooLong: "drop" })).statistics).toMatchObject({ cut: 0, dropped: 2 });
  });

  test("an error", async () => {
    await expect(read(lines, { length: 16, tooLong: "error" })).rejects.toThrow(
      /^text:1: \d+ tokens are more than the 16 of a row\. /,
    );
  });

  test("texts continue in further rows, and no label is lost", async () => {
    const text = readFixture("texts.json").slice(0, 3000);
    const data = await read([{ text }], { length: 64 });
    const segments = await segmentsOf(data.loader({ batchSize: 2, shuffle: false }));
    const all = [...tokenizer.encode(text), tokenizer.eosId!];
    expect(data.statistics).toMatchObject({ split: 1, cut: 0, counted: all.length - 1 });
    expect(segments.flatMap(({ y }) => y)).toEqual(all.slice(1));
    await expect(read(lines, { tooLong: "split" })).rejects.toThrow(/is for `text`/);
  });
});

test("validation lines are whole lines, the same for the same seed, and in no training row", async () => {
  const lines = Array.from({ length: 40 }, (_, i) => ({ text: `line ${i}` }));
  const data = await read(lines, { val: 0.25, seed: 3, length: 32 });
  const texts = async (loader: ReturnType<Examples["loader"]>): Promise<string[]> =>
    (await segmentsOf(loader)).map(({ x }) => decoded(x));
  const [train, kept] = [
    await texts(data.loader({ batchSize: 4 })),
    await texts(data.validationLoader({ batchSize: 4 })!),
  ];
  expect([train.length, kept.length]).toEqual([30, 10]);
  expect(new Set([...train, ...kept]).size).toBe(40);
  const again = await read(lines, { val: 0.25, seed: 3, length: 32 });
  expect(await texts(again.validationLoader({ batchSize: 4 })!)).toEqual(kept);
  expect((await read(lines)).validationLoader({ batchSize: 4 })).toBeUndefined();
  await expect(read(lines, { val: 0.001 })).rejects.toThrow(/leaves none for validation/);
});

test.each([true, false])(
  "a resume in the middle of an epoch continues with the same batches (packed: %s)",
  async (pack) => {
    const lines = Array.from({ length: 60 }, (_, i) => ({ text: "The river rises ".repeat(1 + (i % 7)) + i }));
    const data = await read(lines, { length: 100, pack });
    const all = await batchesOf(data.loader({ batchSize: 2 }), 1, 9);
    const first = data.loader({ batchSize: 2 });
    first.begin(1, 9);
    for (let i = 0; i < 3; i++) await first.next();
    const saved = JSON.parse(JSON.stringify(first.state())) as ReturnType<typeof first.state>;
    const second = (await read(lines, { length: 100, pack })).loader({ batchSize: 2 });
    second.begin(0, 9);
    await second.load(saved);
    for (const batch of all.slice(3)) expect(await second.next()).toEqual(batch);
    expect(await second.next()).toBeUndefined();
  },
);

test("gzip, a File, a stream of bytes and a path give the same", async () => {
  const lines = jsonl([{ text: "één" }, { text: "河水" }]).text;
  const want = countedOf(await segmentsOf((await readExamples({ text: lines }, tokenizer)).loader({ batchSize: 1 })));
  const bytes = new TextEncoder().encode(lines);
  async function* stream(): AsyncGenerator<Uint8Array> {
    for (const byte of bytes) yield Uint8Array.of(byte);
  }
  for (const file of [new Blob([gzipSync(lines)]), new File([lines], "a.jsonl"), stream()]) {
    expect(countedOf(await segmentsOf((await readExamples(file, tokenizer)).loader({ batchSize: 1 })))).toEqual(want);
  }
});

test("ids need no tokenizer", async () => {
  const model = {
    get tokenizer(): LoadedTokenizer {
      throw new Error("none");
    },
    architecture: { vocabularySize: 10 },
  };
  const data = await readExamples(jsonl([{ ids: [1, 2, 3] }]), model);
  expect(data.summary()).toBe("1 example, 2 tokens, 2 count; 1 row of 512, 0.4 % full; longest 2");
  await expect(readExamples(jsonl([{ ids: [1, 2, 10] }]), model)).rejects.toThrow(
    "text:1: id 10 at 2 is not in the vocabulary of 10.",
  );
});

test("many lines: progress is reported, and rows are as full as rows can be", async () => {
  const lines = Array.from({ length: 5000 }, (_, i) => ({ text: "word ".repeat(1 + ((i * 7919) % 40)) }));
  let [reports, last] = [0, 0];
  const data = await read(lines, {
    length: 128,
    onProgress: ({ examples }) => ([reports, last] = [reports + 1, examples]),
  });
  expect(reports).toBeGreaterThan(3);
  expect(last).toBe(5000);
  expect(data.statistics.fill).toBeGreaterThan(0.98);
});
