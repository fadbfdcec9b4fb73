// One row for each `model_type`: what its config.json leaves to defaults, and what is its own. The defaults are those of
// transformers.
import type { Activation, Architecture, LayerArchitecture, Rope } from "./architecture.ts";
import type { ConfigFields } from "./config-fields.ts";
import { is } from "../../core/options.ts";
import { readRope, type RopeByAttention } from "./rope.ts";

type Read = (fields: ConfigFields) => Omit<Architecture, "family" | "config">;

/** What the descendants of Llama differ in. */
interface Variant {
  readonly tied?: true;
  /** Absent: the width divided by the heads. */
  readonly headDim?: number;
  readonly context: number;
  readonly theta?: number;
  readonly localTheta?: number;
  /** The field that names the activation. */
  readonly activation?: "hidden_activation";
  readonly queryKeyNorm?: true;
  readonly gemma?: true;
  readonly queryScale?: true;
  readonly caps?: { readonly scores: number | undefined; readonly logits: number | undefined };
  readonly branchNorms?: true;
  /** Biases of attention that the config cannot choose: Qwen 2 has three, Mistral none. */
  readonly attentionBias?: "queryKeyValue" | "none";
  /** The config chooses biases of the feed-forward part. */
  readonly feedForwardBias?: true;
  readonly layers: (fields: ConfigFields, count: number, rope: RopeByAttention) => readonly LayerArchitecture[];
}

const layer = (window: number | undefined, rope: Rope | undefined): LayerArchitecture => ({
  ...(window !== undefined && { window }),
  ...(rope && { rope }),
});

/** Every layer alike. */
const alike: Variant["layers"] = (_, count, { full_attention: rope }) =>
  Array.from({ length: count }, () => ({ rope }));

/** Every layer with the same window, if there is one. */
const windowed: Variant["layers"] = (fields, count, { full_attention: rope }) => {
  const window = fields.positiveOrNone("sliding_window", 4096);
  return Array.from({ length: count }, () => layer(window, rope));
};

type Attention = keyof RopeByAttention;

/** Layers by `layer_types`, or by the family's rule where the config has none. */
function byType(
  fields: ConfigFields,
  count: number,
  window: number | undefined,
  rule: (layer: number) => Attention,
): readonly { readonly type: Attention; readonly window?: number }[] {
  const given = fields.list("layer_types", is.oneOf("full_attention", "sliding_attention")) as readonly Attention[];
  const types = given ?? Array.from({ length: count }, (_, i) => rule(i));
  if (types.length !== count)
    throw fields.wrong("layer_types", `has ${types.length} entries for ${count} layers`, "Correct the config.");
  return types.map((type) => ({ type, ...(type === "sliding_attention" && window !== undefined && { window }) }));
}

const everyNth =
  (n: number) =>
  (layer: number): Attention =>
    (layer + 1) % n === 0 ? "full_attention" : "sliding_attention";

const gemma2Layers: Variant["layers"] = (fields, count, rope) =>
  byType(fields, count, fields.positiveOrNone("sliding_window", 4096), everyNth(2)).map(({ type, window }) =>
    layer(window, rope[type]),
  );

const gemma3Layers: Variant["layers"] = (fields, count, rope) => {
  const rule = everyNth(fields.whole("sliding_window_pattern", 6));
  const window = fields.positiveOrNone("sliding_window", 4096);
  return byType(fields, count, window, rule).map((each) => layer(each.window, rope[each.type]));
};

/** The first `max_window_layers` see everything; the others see a window, if it is switched on. */
const qwenLayers: Variant["layers"] = (fields, count, { full_attention: rope }) => {
  const window = fields.positiveOrNone("sliding_window", 4096);
  const first = fields.has("max_window_layers") ? fields.whole("max_window_layers") : 28;
  fields.ignore("max_window_layers");
  const isOn = fields.flag("use_sliding_window", false);
  const rule = (layer: number): Attention => (isOn && layer >= first ? "sliding_attention" : "full_attention");
  return byType(fields, count, isOn ? window : undefined, rule).map(({ window: w }) => layer(w, rope));
};

const ZERO_OR_ONE = { expected: "0 or 1", test: (value: unknown) => value === 0 || value === 1 };

/** Every fourth layer turns nothing. */
const smollm3Layers: Variant["layers"] = (fields, count, { full_attention: rope }) => {
  const interval = fields.whole("no_rope_layer_interval", 4);
  const given = fields.list("no_rope_layers", ZERO_OR_ONE) as readonly number[] | undefined;
  const turns = given ?? Array.from({ length: count }, (_, i) => Number((i + 1) % interval !== 0));
  if (turns.length !== count)
    throw fields.wrong("no_rope_layers", `has ${turns.length} entries for ${count} layers`, "Correct the config.");
  const window = fields.positiveOrNone("sliding_window", undefined);
  const isOn = fields.flag("use_sliding_window", false) && window !== undefined;
  const rule = (layer: number): Attention => (isOn && turns[layer] === 0 ? "sliding_attention" : "full_attention");
  const types = byType(fields, count, isOn ? window : undefined, rule);
  return types.map(({ window: w }, i) => layer(w, turns[i] === 1 ? rope : undefined));
};

const FAMILIES: Readonly<Record<string, Read>> = {
  gpt2: readGpt2,
  llama: variant({ context: 2048, feedForwardBias: true, layers: alike }),
  mistral: variant({ context: 131_072, attentionBias: "none", layers: windowed }),
  qwen2: variant({ context: 32_768, attentionBias: "queryKeyValue", layers: qwenLayers }),
  qwen3: variant({ context: 32_768, headDim: 128, queryKeyNorm: true, layers: qwenLayers }),
  smollm3: variant({ context: 32_768, tied: true, theta: 2_000_000, feedForwardBias: true, layers: smollm3Layers }),
  gemma: variant({ context: 8192, headDim: 256, tied: true, gemma: true, layers: alike }),
  gemma2: variant({
    context: 8192,
    headDim: 256,
    tied: true,
    gemma: true,
    activation: "hidden_activation",
    queryScale: true,
    caps: { scores: 50, logits: 30 },
    branchNorms: true,
    layers: gemma2Layers,
  }),
  gemma3_text: variant({
    context: 131_072,
    headDim: 256,
    theta: 1_000_000,
    localTheta: 10_000,
    tied: true,
    gemma: true,
    activation: "hidden_activation",
    queryKeyNorm: true,
    queryScale: true,
    caps: { scores: undefined, logits: undefined },
    branchNorms: true,
    layers: gemma3Layers,
  }),
};

/** What other programs look for in `architectures`. */
export const CLASS_NAMES: Readonly<Record<string, string>> = {
  gpt2: "GPT2LMHeadModel",
  llama: "LlamaForCausalLM",
  mistral: "MistralForCausalLM",
  qwen2: "Qwen2ForCausalLM",
  qwen3: "Qwen3ForCausalLM",
  smollm3: "SmolLM3ForCausalLM",
  gemma: "GemmaForCausalLM",
  gemma2: "Gemma2ForCausalLM",
  gemma3_text: "Gemma3ForCausalLM",
};

export const familyNames: readonly string[] = Object.keys(FAMILIES);

export const familyOf = (name: string): Read | undefined =>
  Object.hasOwn(FAMILIES, name) ? FAMILIES[name] : undefined;

const ACTIVATIONS: Readonly<Record<string, Activation>> = {
  silu: "silu",
  swish: "silu",
  gelu: "gelu",
  gelu_new: "geluTanh",
  gelu_pytorch_tanh: "geluTanh",
  relu: "relu",
};

function activationIn(fields: ConfigFields, name: string, absent?: string): Activation {
  const given = fields.text(name, absent);
  const known = Object.hasOwn(ACTIVATIONS, given) ? ACTIVATIONS[given] : undefined;
  if (known) return known;
  throw fields.wrong(name, `is ${JSON.stringify(given)}; known are ${Object.keys(ACTIVATIONS).join(", ")}`);
}

/** Gemma's first configs say "gelu", and mean the approximation. */
function gemmaActivation(fields: ConfigFields, field: string): Activation {
  if (field === "hidden_activation") fields.ignore("hidden_act");
  else if (fields.has("hidden_activation")) return activationIn(fields, "hidden_activation");
  const found = activationIn(fields, field, "gelu_pytorch_tanh");
  return found === "gelu" && field === "hidden_act" ? "geluTanh" : found;
}

function variant(row: Variant): Read {
  return (fields) => {
    const width = fields.whole("hidden_size");
    const heads = fields.whole("num_attention_heads");
    const headDim = fields.whole("head_dim", row.headDim ?? width / heads);
    if (headDim % 2 !== 0) throw fields.wrong("head_dim", `is ${headDim}, and rotary positions need an even number`);
    const keyValueHeads = fields.whole("num_key_value_heads", heads);
    if (heads % keyValueHeads !== 0)
      throw fields.wrong("num_key_value_heads", `is ${keyValueHeads}, which does not divide the ${heads} heads`);
    const theta = row.theta ?? 10_000;
    const rope = readRope(fields, { full_attention: theta, sliding_attention: row.localTheta ?? theta });
    const layers = row.layers(fields, fields.whole("num_hidden_layers"), rope);
    const attentionBias = row.attentionBias ? false : fields.flag("attention_bias", false);
    const { scores: scoreCap, logits: logitCap } = readCaps(fields, row.caps);
    if (fields.flag("use_bidirectional_attention", false))
      throw fields.wrong(
        "use_bidirectional_attention",
        "is true: the model is an encoder, which hookline/lm cannot train",
      );
    return {
      design: "llama",
      vocabularySize: fields.whole("vocab_size"),
      width,
      heads,
      keyValueHeads,
      headDim,
      innerWidth: fields.whole("intermediate_size"),
      contextLength: fields.whole("max_position_embeddings", row.context),
      layers,
      activation: row.gemma
        ? gemmaActivation(fields, row.activation ?? "hidden_act")
        : activationIn(fields, "hidden_act", "silu"),
      epsilon: fields.positive("rms_norm_eps", 1e-6),
      tied: fields.flag("tie_word_embeddings", row.tied ?? false),
      biases: {
        queryKeyValue: row.attentionBias === "queryKeyValue" || attentionBias,
        output: attentionBias,
        feedForward: row.feedForwardBias ? fields.flag("mlp_bias", false) : false,
      },
      queryKeyNorm: row.queryKeyNorm ?? false,
      scoreScale: (row.queryScale ? fields.positive("query_pre_attn_scalar", 256) : headDim) ** -0.5,
      ...(scoreCap !== undefined && { scoreCap }),
      ...(logitCap !== undefined && { logitCap }),
      embeddingScale: row.gemma ? Math.fround(Math.sqrt(width)) : 1,
      onePlusNorms: row.gemma ?? false,
      branchNorms: row.branchNorms ?? false,
      initialStd: fields.positive("initializer_range", 0.02),
    };
  };
}

function readCaps(fields: ConfigFields, caps: Variant["caps"]): NonNullable<Variant["caps"]> {
  if (!caps) return { scores: undefined, logits: undefined };
  return {
    scores: fields.positiveOrNone("attn_logit_softcapping", caps.scores),
    logits: fields.positiveOrNone("final_logit_softcapping", caps.logits),
  };
}

function readGpt2(fields: ConfigFields): ReturnType<Read> {
  const width = fields.whole("n_embd");
  const heads = fields.whole("n_head");
  if (width % heads !== 0) throw fields.wrong("n_embd", `is ${width}, which the ${heads} heads cannot share`);
  const headDim = width / heads;
  for (const [name, usual] of [
    ["scale_attn_weights", true],
    ["scale_attn_by_inverse_layer_idx", false],
  ] as const)
    if (fields.flag(name, usual) !== usual) throw fields.wrong(name, `is ${!usual}, which hookline does not compute`);
  return {
    design: "gpt2",
    vocabularySize: fields.whole("vocab_size"),
    width,
    heads,
    keyValueHeads: heads,
    headDim,
    innerWidth: fields.whole("n_inner", 4 * width),
    contextLength: fields.whole("n_positions", 1024),
    layers: Array.from({ length: fields.whole("n_layer") }, () => ({})),
    activation: activationIn(fields, "activation_function", "gelu_new"),
    epsilon: fields.positive("layer_norm_epsilon", 1e-5),
    tied: fields.flag("tie_word_embeddings", true),
    biases: { queryKeyValue: true, output: true, feedForward: true },
    queryKeyNorm: false,
    scoreScale: headDim ** -0.5,
    embeddingScale: 1,
    onePlusNorms: false,
    branchNorms: false,
    initialStd: fields.positive("initializer_range", 0.02),
  };
}
