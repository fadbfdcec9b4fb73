// What tests of language models run inside a page: loading from everywhere a page has files, and tuning what was loaded.
import { providePackages, Trainer } from "hookline";
import {
  type DownloadProgress,
  generate,
  generator,
  type LanguageModel,
  loadModel,
  lora,
  type ModelLocation,
  readExamples,
  sft,
} from "hookline/lm";
import { adamw } from "hookline/optim";

export interface Loaded {
  readonly from: string | undefined;
  readonly ids: readonly number[];
  readonly decoded: string;
  readonly rendered: string;
  readonly answer: string;
}

export interface Tuned {
  readonly losses: readonly number[];
  readonly answer: string;
  readonly device: string;
}

const TEXT = "The film “Heat” came out in 1995: 火 🔥";
const QUESTION = [{ role: "user", content: "When did Heat come out?" }];

export async function look(model: LanguageModel): Promise<Loaded> {
  const { tokenizer } = model;
  const ids = tokenizer.encode(TEXT);
  await using writer = generator(model, { engine: "wasm" });
  return {
    from: model.source.path,
    ids: [...ids],
    decoded: tokenizer.decode(ids),
    rendered: await tokenizer.render(QUESTION, { addGenerationPrompt: true }),
    answer: await generate(writer, QUESTION, { maxTokens: 12 }).text(),
  };
}

/** Three steps of LoRA on conversations in `file`. */
export async function tune(from: ModelLocation, file: File | string): Promise<Tuned> {
  const model = await loadModel(from, { adapter: lora({ rank: 4 }), base: "int8" });
  const data = await readExamples(file, model, { length: 64 });
  const losses: number[] = [];
  let device = "";
  const trainer = new Trainer({
    ...sft(model, data, { batchSize: 2 }),
    optimizer: adamw({ lr: 1e-2 }),
    steps: 3,
    seed: 1,
    engine: "wasm",
    hooks: [
      {
        name: "watch",
        onStepEnd: (ctx) => void ((device = ctx.device), losses.push(ctx.loss)),
      },
    ],
  });
  await trainer.fit();
  const answer = await generate(trainer, QUESTION, { maxTokens: 12 }).text();
  await trainer.close();
  return { losses, answer, device };
}

const chosen = (id: string): File[] => [...document.querySelector<HTMLInputElement>(`#${id}`)!.files!];

/** Puts the chosen files into the page's own storage, as a page does that keeps a download. */
async function keep(files: readonly File[]): Promise<FileSystemDirectoryHandle> {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle("small", { create: true });
  const further = await folder.getDirectoryHandle("additional_chat_templates", { create: true });
  const template = await (await further.getFileHandle("tool_use.jinja", { create: true })).createWritable();
  await template.write("{{ tools[0].name }}");
  await template.close();
  for (const file of files) {
    const writable = await (await folder.getFileHandle(file.name, { create: true })).createWritable();
    await writable.write(file);
    await writable.close();
  }
  return folder;
}

if ("document" in globalThis)
  Object.assign(globalThis, {
    lm: {
      provide: () =>
        providePackages({
          "@huggingface/tokenizers": () => import("@huggingface/tokenizers"),
          "@huggingface/jinja": () => import("@huggingface/jinja"),
        }),
      address: async () => look(await loadModel("models/small")),
      url: async () => look(await loadModel(new URL("/models/small/", location.href))),
      opfs: async () => look(await loadModel(await keep(chosen("model")))),
      /** A template in a folder of its own. */
      tools: async () => {
        const { tokenizer } = await loadModel(await keep(chosen("model")));
        return tokenizer.render(QUESTION, { tools: [{ name: "calendar" }] });
      },
      chosen: async () => look(await loadModel(chosen("model"))),
      progress: async () => {
        const seen: DownloadProgress[] = [];
        await loadModel("slow/small", {
          onProgress: (progress) => {
            seen.push(progress);
            // The server sends the second half once the first has been reported.
            if (progress.file === "model.safetensors" && progress.loaded < progress.total!) void fetch("/continue");
          },
        });
        return seen;
      },
      absent: () => loadModel("models/absent"),
      incomplete: async () => {
        const folder = await keep(chosen("model"));
        await folder.removeEntry("model.safetensors");
        return loadModel(folder);
      },
      tuned: async () => tune(await keep(chosen("model")), chosen("data")[0]!),
    },
  });
