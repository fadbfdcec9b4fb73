// What a config.json says about a language model, in one form for all families: the mathematics and nothing else.
import type { Json } from "../../core/options.ts";

/** How positions turn queries and keys. */
export interface Rope {
  readonly theta: number;
  readonly scaling?: RopeScaling;
}

/** How a model was made to read longer texts than it was first trained on. */
export type RopeScaling =
  | { readonly type: "linear"; readonly factor: number }
  | {
      readonly type: "llama3";
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      readonly firstContext: number;
    };

/** What differs between the layers of one model. */
export interface LayerArchitecture {
  /** A token sees itself and the `window − 1` tokens before it. Absent: all before it. */
  readonly window?: number;
  /** Absent: positions turn nothing in this layer. */
  readonly rope?: Rope;
}

/** The names of activation functions; `geluTanh` is the approximation by a hyperbolic tangent. */
export type Activation = "silu" | "gelu" | "geluTanh" | "relu";

/** A language model's architecture. `architectureOf` makes one from the fields of a config.json. */
export interface Architecture {
  /** `model_type` of the config. */
  readonly family: string;
  /** The two designs: GPT-2's own, and Llama's, which the others vary. */
  readonly design: "gpt2" | "llama";
  readonly vocabularySize: number;
  /** Features of a token between the layers. */
  readonly width: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headDim: number;
  /** Features inside of the feed-forward part of a layer. */
  readonly innerWidth: number;
  /** The most tokens that it reads at once. */
  readonly contextLength: number;
  readonly layers: readonly LayerArchitecture[];
  readonly activation: Activation;
  /** Added to a mean square, or to a variance, before the root. */
  readonly epsilon: number;
  /** The head is the embedding. */
  readonly tied: boolean;
  readonly biases: { readonly queryKeyValue: boolean; readonly output: boolean; readonly feedForward: boolean };
  /** Each head's queries and keys are normalized. */
  readonly queryKeyNorm: boolean;
  /** Factor on scores of attention. */
  readonly scoreScale: number;
  /** Scores and logits are kept between plus and minus this by a hyperbolic tangent. */
  readonly scoreCap?: number;
  readonly logitCap?: number;
  readonly embeddingScale: number;
  /** The factors of norms are 1 + weight. */
  readonly onePlusNorms: boolean;
  /** What attention and the feed-forward part return is normalized, too. */
  readonly branchNorms: boolean;
  /** Standard deviation of random initial weights. */
  readonly initialStd: number;
  /** The config as it was given, which saving writes again. */
  readonly config: Readonly<Record<string, Json>>;
}
