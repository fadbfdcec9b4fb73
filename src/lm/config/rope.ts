// Rotary positions in a config, in the form of transformers 4 (`rope_theta` and `rope_scaling`) and of 5 (`rope_parameters`),
// and the frequencies that they stand for.
import type { Rope, RopeScaling } from "./architecture.ts";
import type { ConfigFields } from "./config-fields.ts";

/** The rotations of each kind of layer. */
export interface RopeByAttention {
  readonly full_attention: Rope;
  readonly sliding_attention: Rope;
}

/** Reads them; `theta` are the family's defaults. */
export function readRope(
  fields: ConfigFields,
  theta: { readonly full_attention: number; readonly sliding_attention: number },
): RopeByAttention {
  const parameters = fields.object("rope_parameters");
  if (!parameters) return readVersion4(fields, theta);
  fields.ignore("rope_theta", "rope_scaling", "rope_local_base_freq");
  const [full, sliding] = [parameters.object("full_attention"), parameters.object("sliding_attention")];
  if (full || sliding) {
    parameters.finish();
    if (!full || !sliding) throw parameters.wrong(full ? "sliding_attention" : "full_attention", "is missing");
    return {
      full_attention: ropeIn(full, theta.full_attention),
      sliding_attention: ropeIn(sliding, theta.sliding_attention),
    };
  }
  const rope = ropeIn(parameters, theta.full_attention);
  return { full_attention: rope, sliding_attention: rope };
}

function readVersion4(fields: ConfigFields, theta: RopeThetas): RopeByAttention {
  const own = fields.positive("rope_theta", theta.full_attention);
  const scaling = fields.object("rope_scaling");
  const full: Rope = scaling ? ropeIn(scaling, own) : { theta: own };
  // Gemma 3 alone has local layers that turn otherwise.
  if (theta.sliding_attention === theta.full_attention) return { full_attention: full, sliding_attention: full };
  const local = fields.positive("rope_local_base_freq", theta.sliding_attention);
  return { full_attention: full, sliding_attention: { theta: local } };
}

type RopeThetas = Parameters<typeof readRope>[1];

function ropeIn(fields: ConfigFields, absent: number): Rope {
  const theta = fields.positive("rope_theta", absent);
  const type = fields.text("rope_type", fields.has("type") ? fields.text("type") : "default");
  fields.ignore("type");
  const scaling = scalingIn(fields, type);
  if (fields.has("partial_rotary_factor") && fields.positive("partial_rotary_factor") !== 1)
    throw fields.wrong("partial_rotary_factor", "turns a part of each head alone, which no supported family does");
  fields.finish();
  return scaling ? { theta, scaling } : { theta };
}

function scalingIn(fields: ConfigFields, type: string): RopeScaling | undefined {
  switch (type) {
    case "default":
      fields.ignore("factor");
      return undefined;
    // Up to the model's context it is the default; longer texts are refused.
    case "dynamic":
      fields.ignore("factor", "original_max_position_embeddings");
      return undefined;
    case "linear":
      return { type, factor: fields.positive("factor") };
    case "llama3":
      return {
        type,
        factor: fields.positive("factor"),
        lowFrequencyFactor: fields.positive("low_freq_factor"),
        highFrequencyFactor: fields.positive("high_freq_factor"),
        firstContext: fields.positive("original_max_position_embeddings"),
      };
    default:
      throw fields.wrong("rope_type", `is ${JSON.stringify(type)}; known are default, linear, dynamic and llama3`);
  }
}

/** Radians per position for each pair of features, rounded to float32 where PyTorch rounds. */
export function ropeFrequencies({ theta, scaling }: Rope, headDim: number): Float32Array {
  const round = Math.fround;
  const plain = Float32Array.from({ length: headDim / 2 }, (_, i) => 1 / round(theta ** round((2 * i) / headDim)));
  if (!scaling) return plain;
  if (scaling.type === "linear") return plain.map((frequency) => frequency / scaling.factor);
  const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, firstContext } = scaling;
  return plain.map((frequency) => {
    const wavelength = (2 * Math.PI) / frequency;
    if (wavelength < firstContext / high) return frequency;
    if (wavelength > firstContext / low) return frequency / factor;
    const smooth = (firstContext / wavelength - low) / (high - low);
    return ((1 - smooth) * frequency) / factor + smooth * frequency;
  });
}
