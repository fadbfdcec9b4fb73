// Folders in the wild: the same model under other names, in other types and in several files; and folders that are broken,
// each of which gets an error that says what is wrong, in bounded time.
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { decodeSafetensors, encodeSafetensors, type FileTensors } from "hookline/checkpoint";
import { loadModel, lora, saveModel } from "hookline/lm";
import { initKey } from "hookline/nn";
import { directoryFiles } from "../../src/lm/load/blob-folder.ts";
import { tempDir } from "../support/temp-dir.ts";
import { adapterFolder, goldenFolder, type GoldenName, readGolden, relativeError } from "./golden-files.ts";
import { training } from "./training.ts";

const WEIGHTS = "model.safetensors";

function copyOf(name: GoldenName): string {
  const folder = join(tempDir(), name);
  cpSync(goldenFolder(name), folder, { recursive: true });
  return folder;
}

const tensorsIn = (folder: string): FileTensors =>
  decodeSafetensors(readFileSync(join(folder, WEIGHTS)), WEIGHTS).tensors;

function rewrite(folder: string, change: (tensors: FileTensors) => FileTensors): void {
  writeFileSync(join(folder, WEIGHTS), encodeSafetensors(change(tensorsIn(folder)), { format: "pt" }));
}

function setConfig(folder: string, fields: Readonly<Record<string, unknown>>): void {
  const path = join(folder, "config.json");
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...fields }));
}

const parametersOf = async (folder: string) => (await loadModel(folder)).init(initKey(0));

describe("in the wild", () => {
  test("GPT-2's own file: names without `transformer.`, and masks beside them", async () => {
    const folder = copyOf("gpt2");
    rewrite(folder, (tensors) => {
      const bare = Object.entries(tensors).map(([name, tensor]) => [name.replace(/^transformer\./, ""), tensor]);
      const mask = { dtype: "BOOL", shape: [1, 1, 4, 4], bytes: new Uint8Array(16) } as const;
      return { ...Object.fromEntries(bare), "h.0.attn.bias": mask, "h.1.attn.bias": mask } as FileTensors;
    });
    const { trainer, logits } = await training("gpt2", { adapter: adapterFolder("gpt2") }, folder);
    await using _ = trainer;
    const whole = await training("gpt2", { adapter: adapterFolder("gpt2") });
    expect((await logits()).data).toEqual((await whole.logits()).data);
    await whole.trainer.close();
    const out = join(tempDir(), "merged");
    await saveModel(trainer, out, { merge: true });
    expect(Object.keys(tensorsIn(out)).sort()).toEqual(
      Object.keys(tensorsIn(goldenFolder("gpt2")))
        .map((name) => name.replace(/^transformer\./, ""))
        .sort(),
    );
  });

  test("a tied head that is saved as well", async () => {
    const folder = copyOf("llama");
    rewrite(folder, (tensors) => ({ ...tensors, "lm_head.weight": tensors["model.embed_tokens.weight"]! }));
    expect(Object.keys(await parametersOf(folder))).not.toContain("lm_head.weight");
    rewrite(folder, (tensors) => {
      const head = tensors["lm_head.weight"]!;
      return { ...tensors, "lm_head.weight": { ...head, bytes: head.bytes.map((byte) => byte ^ 1) } };
    });
    await expect(loadModel(folder)).rejects.toThrow(
      '`lm_head.weight` is not the embedding, but config.json ties them. Say "tie_word_embeddings": false',
    );
  });

  test("shards, links to files, and both are the same model", async () => {
    const whole = await parametersOf(goldenFolder("llama"));
    const shards = join(tempDir(), "shards");
    await saveModel(await loadModel(goldenFolder("llama")), shards, { maxShard: 20_000 });
    expect(await parametersOf(shards)).toEqual(whole);
    const linked = tempDir();
    for (const name of ["config.json", WEIGHTS]) symlinkSync(join(goldenFolder("llama"), name), join(linked, name));
    expect(await parametersOf(linked)).toEqual(whole);
  });

  test("a URL, with progress; a directory handle; chosen files", async () => {
    const folder = goldenFolder("llama");
    const whole = await parametersOf(folder);
    const server = createServer((request, response) => {
      try {
        const bytes = readFileSync(folder + request.url!.replace("/models/llama", ""));
        response.writeHead(200, { "content-length": bytes.length }).end(request.method === "HEAD" ? undefined : bytes);
      } catch {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/models/llama`;
    const seen: string[] = [];
    const fromUrl = await loadModel(url, {
      onProgress: ({ file, loaded, total }) => seen.push(`${file} ${loaded === total}`),
    });
    expect(fromUrl.init(initKey(0))).toEqual(whole);
    expect(seen).toContain("model.safetensors true");
    await expect(loadModel(`${url}-chat`)).rejects.toThrow("it has no config.json");

    const files = ["config.json", "generation_config.json", WEIGHTS].map(
      (name) => new File([readFileSync(join(folder, name))], name),
    );
    expect((await loadModel(files)).init(initKey(0))).toEqual(whole);
    // As OPFS answers; Chromium's own is tried in tests/browser.
    const handle = {
      name: "",
      async *keys() {
        yield* files.map(({ name }) => name);
      },
      async getDirectoryHandle() {
        throw Object.assign(new Error("gone"), { name: "NotFoundError" });
      },
      async getFileHandle(name: string) {
        const found = files.find((file) => file.name === name);
        if (found) return { getFile: async () => found };
        throw Object.assign(new Error("gone"), { name: "NotFoundError" });
      },
    };
    expect((await loadModel(directoryFiles(handle as never))).init(initKey(0))).toEqual(whole);
  });
});

/** What is done to a folder of "llama", and what the error says. */
const BROKEN: Readonly<Record<string, readonly [(folder: string) => void, RegExp]>> = {
  "no config.json": [
    (folder) => rmSync(join(folder, "config.json")),
    /it has no config\.json\. Give the folder of a model/,
  ],
  "a folder with a GGUF file": [
    (folder) => {
      rmSync(join(folder, "config.json"));
      writeFileSync(join(folder, "model.Q4_K_M.gguf"), "GGUF");
    },
    /no config\.json; model\.Q4_K_M\.gguf is of a format that hookline\/lm does not read/,
  ],
  "a folder with an ONNX model": [
    (folder) => {
      rmSync(join(folder, "config.json"));
      mkdirSync(join(folder, "onnx"));
    },
    /no config\.json; onnx is of a format/,
  ],
  "a config that is no JSON": [
    (folder) => writeFileSync(join(folder, "config.json"), "{"),
    /config\.json: it is not JSON/,
  ],
  "a config that is a list": [(folder) => writeFileSync(join(folder, "config.json"), "[]"), /it holds no JSON object/],
  "a config of many megabytes": [
    (folder) => writeFileSync(join(folder, "config.json"), `{"a":"${"x".repeat(3_000_000)}"}`),
    /config\.json: it has 3000008 bytes, more than 1000000/,
  ],
  "a config that is not UTF-8": [
    (folder) => writeFileSync(join(folder, "config.json"), Buffer.from([0x7b, 0xff])),
    /it is not UTF-8 text/,
  ],
  "a config that is a pipe": [
    (folder) => {
      rmSync(join(folder, "config.json"));
      execFileSync("mkfifo", [join(folder, "config.json")]);
    },
    /config\.json: it is not a plain file/,
  ],
  "a pointer of Git LFS": [
    (folder) =>
      writeFileSync(join(folder, WEIGHTS), "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"),
    /model\.safetensors: it is a pointer of Git LFS, not the file\. Get the files: git lfs pull/,
  ],
  "no weights": [
    (folder) => rmSync(join(folder, WEIGHTS)),
    /it has no model\.safetensors, and no model\.safetensors\.index\.json/,
  ],
  "weights of PyTorch": [
    (folder) => {
      rmSync(join(folder, WEIGHTS));
      writeFileSync(join(folder, "pytorch_model.bin"), "");
    },
    /It has pytorch_model\.bin: save the model again with transformers/,
  ],
  "truncated weights": [
    (folder) => truncateSync(join(folder, WEIGHTS), 9000),
    /model\.safetensors: its tensors overlap or extend after its end/,
  ],
  "an empty file of weights": [(folder) => truncateSync(join(folder, WEIGHTS), 0), /it has 0 bytes, too few/],
  "a link to nothing": [
    (folder) => {
      rmSync(join(folder, WEIGHTS));
      symlinkSync("nowhere", join(folder, WEIGHTS));
    },
    /model\.safetensors: it does not exist/,
  ],
  "weights that are a folder": [
    (folder) => {
      rmSync(join(folder, WEIGHTS));
      mkdirSync(join(folder, WEIGHTS));
    },
    /model\.safetensors: it is not a plain file/,
  ],
  "an index that leaves the folder": [
    (folder) => writeIndex(folder, { "model.norm.weight": "../llama/x.safetensors" }),
    /names the file "\.\.\/llama\/x\.safetensors", which is not a plain file name/,
  ],
  "an index without its shards": [
    (folder) => writeIndex(folder, { "model.norm.weight": "model-00001-of-00002.safetensors" }),
    /model-00001-of-00002\.safetensors: it is missing/,
  ],
  "an index of another model's shards": [
    (folder) => {
      copyFileSync(join(folder, WEIGHTS), join(folder, "a.safetensors"));
      writeIndex(folder, { "model.norm.weight": "a.safetensors" });
    },
    /a\.safetensors has tensor "[^"]+", which the index does not name there/,
  ],
  "a tensor of another shape": [
    (folder) => setConfig(folder, { intermediate_size: 64 }),
    /tensor `model\.layers\.0\.mlp\.gate_proj\.weight` is \[48, 32\], but config\.json makes it \[64, 32\]/,
  ],
  "a tensor of whole numbers": [
    (folder) =>
      rewrite(folder, (tensors) => ({
        ...tensors,
        "model.norm.weight": { dtype: "I32", shape: [32], bytes: new Uint8Array(128) },
      })),
    /tensor `model\.norm\.weight` is of type I32; models are read from F32, F16, BF16/,
  ],
  "a missing tensor": [
    (folder) =>
      rewrite(folder, (tensors) =>
        Object.fromEntries(Object.entries(tensors).filter(([name]) => name !== "model.norm.weight")),
      ),
    /it has no tensor `model\.norm\.weight`/,
  ],
  "fewer layers than the config": [
    (folder) => setConfig(folder, { num_hidden_layers: 3 }),
    /no tensor `model\.layers\.2\.\S+` \(and 8 more of 29\)/,
  ],
  "a tensor too many": [
    (folder) => setConfig(folder, { num_hidden_layers: 1 }),
    /it has tensor `model\.layers\.1\.\S+`, which the model of config\.json does not have/,
  ],
  "another family": [
    (folder) => setConfig(folder, { model_type: "mixtral" }),
    /`model_type` is "mixtral", which is not known\. Known are gpt2, llama/,
  ],
  "a family with a typo": [(folder) => setConfig(folder, { model_type: "lama" }), /Did you mean `llama`\?/],
  "a model that sees": [
    (folder) => setConfig(folder, { model_type: "gemma3", text_config: {} }),
    /reads more than text/,
  ],
  "a quantized model": [
    (folder) => setConfig(folder, { quantization_config: { bits: 4 } }),
    /`quantization_config` says that the weights are quantized/,
  ],
  "an unknown kind of positions": [
    (folder) => setConfig(folder, { rope_parameters: { rope_type: "yarn", rope_theta: 1e4, factor: 4 } }),
    /`rope_parameters\.rope_type` is "yarn"; known are default, linear, dynamic and llama3/,
  ],
  "an unknown field": [
    (folder) => setConfig(folder, { num_experts: 8 }),
    /`num_experts` is `8` \(number\), and hookline does not know this field here/,
  ],
  "a field of a wrong type": [
    (folder) => setConfig(folder, { hidden_size: "32" }),
    /`hidden_size` is `"32"` \(string\)\. It must be a whole number ≥ 1/,
  ],
  "an unknown activation": [
    (folder) => setConfig(folder, { hidden_act: "xielu" }),
    /`hidden_act` is "xielu"; known are silu, swish/,
  ],
};

function writeIndex(folder: string, weightMap: Readonly<Record<string, string>>): void {
  rmSync(join(folder, WEIGHTS));
  writeFileSync(join(folder, `${WEIGHTS}.index.json`), JSON.stringify({ metadata: {}, weight_map: weightMap }));
}

describe("broken", () => {
  test.each(Object.entries(BROKEN))("%s", async (_, [breakIt, message]) => {
    const folder = copyOf("llama");
    breakIt(folder);
    await expect(loadModel(folder)).rejects.toThrow(message);
  });

  test("unknown fields that are null, false or empty are harmless", async () => {
    const folder = copyOf("llama");
    setConfig(folder, { num_experts: null, use_mrope: false, rope_interleaved: false, pruned_heads: {} });
    const { trainer, logits } = await training("llama", {}, folder);
    await using _ = trainer;
    expect(relativeError((await logits()).data, (await readGolden("llama")).logits.data)).toBeLessThan(1e-4);
  });

  test("paths that are files, and what is no location", async () => {
    const file = join(tempDir(), "model.gguf");
    writeFileSync(file, "GGUF");
    await expect(loadModel(file)).rejects.toThrow("it is a GGUF file");
    await expect(loadModel(join(goldenFolder("llama"), WEIGHTS))).rejects.toThrow("it is a file. Give the folder");
    await expect(loadModel(7 as never)).rejects.toThrow("expected a path, a URL");
    await expect(loadModel(goldenFolder("llama"), { adpter: "x" } as never)).rejects.toThrow("Did you mean `adapter`?");
  });
});

/** What is done to an adapter's folder of "llama", and what the error says. */
const BROKEN_ADAPTERS: Readonly<Record<string, readonly [(folder: string) => void, RegExp]>> = {
  "DoRA without its magnitudes": [
    (folder) => adapterConfig(folder, { use_dora: true }),
    /lora_magnitude_vector` is missing, and must be \[\d+\]/,
  ],
  "biases of the base": [(folder) => adapterConfig(folder, { bias: "all" }), /`bias` trains biases/],
  "another kind": [(folder) => adapterConfig(folder, { peft_type: "IA3" }), /`peft_type` is not LORA/],
  "ranks by pattern": [
    (folder) => adapterConfig(folder, { rank_pattern: { q_proj: 8 } }),
    /`rank_pattern` is an object/,
  ],
  "a start that changes the base": [
    (folder) => adapterConfig(folder, { init_lora_weights: "pissa" }),
    /`init_lora_weights` changes the weights of the base/,
  ],
  "another rank": [(folder) => adapterConfig(folder, { r: 8 }), /lora_A\.weight` is \[4, 32\], and must be \[8, 32\]/],
  "no config": [(folder) => rmSync(join(folder, "adapter_config.json")), /it has no adapter_config\.json/],
  "no tensors": [(folder) => rmSync(join(folder, "adapter_model.safetensors")), /it has no adapter_model\.safetensors/],
};

function adapterConfig(folder: string, fields: Readonly<Record<string, unknown>>): void {
  const path = join(folder, "adapter_config.json");
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...fields }));
}

describe("broken adapters", () => {
  test.each(Object.entries(BROKEN_ADAPTERS))("%s", async (_, [breakIt, message]) => {
    const folder = join(tempDir(), "adapter");
    cpSync(adapterFolder("llama"), folder, { recursive: true });
    breakIt(folder);
    await expect(loadModel(goldenFolder("llama"), { adapter: folder })).rejects.toThrow(message);
  });

  test("of another base", async () => {
    await expect(loadModel(goldenFolder("llama"), { adapter: adapterFolder("gpt2") })).rejects.toThrow(
      /tensor `base_model\.model\.transformer\.h\.0\S+` belongs to nothing in the model/,
    );
    await expect(loadModel(goldenFolder("mistral"), { adapter: adapterFolder("llama") })).rejects.toThrow(
      /q_proj\.lora_B\.weight` is \[32, 4\], and must be \[24, 4\]/,
    );
  });

  test("new ones that fit no model", async () => {
    const load = (options: Parameters<typeof lora>[0], name: GoldenName = "llama") =>
      loadModel(goldenFolder(name), { adapter: lora(options) });
    await expect(load({ targets: ["q_prj"] })).rejects.toThrow(
      "no matrix of a layer is named `q_prj`. Did you mean `q_proj`?",
    );
    await expect(load({ layers: 3 })).rejects.toThrow("`layers` is 3, but the model has 2");
    await expect(load({ also: ["embed_tokens"] })).rejects.toThrow("the embedding of this model is its head too");
    await expect(load({ also: ["lm_head"] })).rejects.toThrow("Its head is its embedding");
    await expect(load({ also: ["q_proj"] })).rejects.toThrow("cannot be both adapted and trained whole");
    expect(() => lora({ rank: 0 })).toThrow("Expected `rank` to be a whole number ≥ 1");
  });
});
