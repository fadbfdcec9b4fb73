// config.json in the forms of transformers 4 and 5 gives one architecture, and a description has the numbers of the model.
import { expect, test } from "vitest";
import { architectureOf, languageModel, loadModel, lora } from "hookline/lm";
import { initKey } from "hookline/nn";
import { sizeOf } from "../../src/core/arrays.ts";
import { goldenFolder } from "./golden-files.ts";

const LLAMA = {
  model_type: "llama",
  vocab_size: 97,
  hidden_size: 32,
  intermediate_size: 48,
  num_hidden_layers: 6,
  num_attention_heads: 4,
};
const GEMMA = { ...LLAMA, model_type: "gemma3_text", num_key_value_heads: 2, head_dim: 8, sliding_window: 12 };

const layersOf = (config: Parameters<typeof architectureOf>[0]) => architectureOf(config).layers;

test("rotary positions in both forms", () => {
  const scaling = { factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 64 };
  const version4 = layersOf({ ...LLAMA, rope_theta: 5e5, rope_scaling: { rope_type: "llama3", ...scaling } });
  expect(layersOf({ ...LLAMA, rope_parameters: { rope_type: "llama3", rope_theta: 5e5, ...scaling } })).toEqual(
    version4,
  );
  expect(version4[0]!.rope).toMatchObject({ theta: 5e5, scaling: { type: "llama3", factor: 8, firstContext: 64 } });
  const linear = layersOf({ ...LLAMA, rope_scaling: { type: "linear", factor: 2 } });
  expect(linear[0]!.rope).toEqual({ theta: 1e4, scaling: { type: "linear", factor: 2 } });
  // Up to the model's context, which longer rows may not leave, these are the default.
  expect(layersOf({ ...LLAMA, rope_scaling: { type: "dynamic", factor: 2 } })).toEqual(layersOf(LLAMA));
});

test("layers that see a window, in both forms", () => {
  const version5 = {
    ...GEMMA,
    layer_types: [...Array.from({ length: 5 }, () => "sliding_attention"), "full_attention"],
    rope_parameters: {
      full_attention: { rope_type: "default", rope_theta: 1e6 },
      sliding_attention: { rope_type: "default", rope_theta: 1e4 },
    },
  };
  const version4 = {
    ...GEMMA,
    rope_theta: 1e6,
    rope_local_base_freq: 1e4,
    rope_scaling: null,
    sliding_window_pattern: 6,
  };
  expect(layersOf(version4)).toEqual(layersOf(version5));
  expect(layersOf(version5).map(({ window, rope }) => [window, rope!.theta])).toEqual([
    ...Array.from({ length: 5 }, () => [12, 1e4]),
    [undefined, 1e6],
  ]);
});

test("Gemma's first configs say gelu and mean the approximation; another model's gelu is exact", () => {
  const gemma = { ...LLAMA, model_type: "gemma", head_dim: 8, hidden_act: "gelu", hidden_activation: null };
  expect(architectureOf(gemma).activation).toBe("geluTanh");
  expect(architectureOf({ ...LLAMA, hidden_act: "gelu" }).activation).toBe("gelu");
});

test("a description counts what the model has and what is trained", async () => {
  const model = await loadModel(goldenFolder("llama"), { adapter: lora({ rank: 2 }), base: "int8" });
  const trained = Object.values(model.init(initKey(0))).reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  const frozen = [...model.base!.tensors.values()].reduce((sum, { shape }) => sum + 4 * sizeOf(shape), 0);
  const text = model.describe({ batchSize: 2, length: 64 });
  expect(text).toContain(`18,624 parameters, ${trained.toLocaleString("en-US")} trained`);
  expect(frozen).toBeLessThan(4 * 18_624);
  expect(text).not.toContain("more than");
  const advice = languageModel(architectureOf(LLAMA)).describe({ limit: 1e5 });
  expect(advice).toContain("What helps: an adapter (`lora`) in place of all parameters; a smaller batch");
  expect(() => model.describe({ lenght: 3 } as never)).toThrow("Did you mean `length`?");
});
