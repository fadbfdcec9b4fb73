// A deep model of equal blocks, which the trainer can train layer by layer.
import { component } from "../core/component.ts";
import { OptionError } from "../core/errors.ts";
import type { ApplyContext, HostTensors, Model, Outputs, Stack, Tensor, Tensors } from "../core/model.ts";
import { didYouMean } from "../core/names.ts";
import { is, one } from "../core/options.ts";
import { prefix, select } from "./block.ts";
import type { Layer } from "./layer.ts";
import { tapChild } from "./tap.ts";

/** Options of `stack`. */
export interface StackOptions<In, Out extends Outputs> {
  /** From the inputs to the hidden states. */
  readonly embed: Model<In, Tensor>;
  /** One layer, from hidden states to hidden states of the same shape. */
  readonly block: Layer;
  /** How many layers there are. Each has parameters of its own. */
  readonly count: number;
  /** From the hidden states to the outputs. */
  readonly head: Model<Tensor, Out>;
  /** Parameters that `head` shares with `embed`: `{ "head.weight": "embed.weight" }`. Default: none. */
  readonly tie?: Readonly<Record<string, string>>;
}

/**
 * A deep model of `count` equal blocks between `embed` and `head`. Parameters are named `embed.…`, `layers.0.…`, `head.…`.
 * The trainer computes it layer by layer (its option `layered`), so that the time to compile does not grow with its depth,
 * and memory by the hidden states of each layer only. Its parts may not have buffers, such as those of batch norm.
 * @example
 * stack({
 *   embed: embedding(32_768, 768),
 *   block: transformerBlock(768, 12),
 *   count: 12,
 *   head: sequential(layerNorm(768), deferredLinear(768, 32_768, { bias: false })),
 *   tie: { "head.1.weight": "embed.weight" },
 * })
 */
export const stack = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "stack",
    takes: () => ({
      options: {
        embed: { ...is.object, holds: one("model") },
        block: { ...is.object, holds: one("model") },
        count: is.wholeFrom(1),
        head: { ...is.object, holds: one("model") },
        tie: is.object,
      },
      required: ["embed", "block", "count", "head"],
    }),
  },
  <In, Out extends Outputs>(options: StackOptions<In, Out>): Model<In, Out> => {
    const { embed, block, count, head, tie = {} } = options;
    for (const [name, part] of Object.entries({ embed, block, head })) checkPart(name, part);
    const passes = stackOf(options);
    return {
      init(key) {
        const first = prefix("embed", embed.init(key.fold("embed")));
        const layers = Array.from({ length: count }, (_, i) =>
          prefix(`layers.${i}`, block.init(key.fold("layers").fold(i))),
        );
        const last = prefix("head", head.init(key.fold("head")));
        checkTies(tie, first, last);
        const own = Object.entries(last).filter(([name]) => tie[name] === undefined);
        return Object.assign({}, first, ...layers, Object.fromEntries(own)) as HostTensors;
      },
      apply(params, inputs, ctx) {
        const outside = Object.entries(params).filter(([name]) => !name.startsWith("layers."));
        const others = (): Tensors => Object.fromEntries(outside.map(([name, param]) => [name, param.ref]));
        let hidden = passes.embed(others(), inputs, ctx);
        for (let i = 0; i < count; i++) {
          const own = select(`layers.${i}`, params, (param) => param);
          hidden = tapChild(`layers.${i}`, () => passes.layer("block", own, hidden, inputs, ctx));
        }
        const outputs = passes.head(others(), hidden, ctx) as Out;
        for (const [, param] of outside) param.dispose();
        return outputs;
      },
      stack: passes,
    };
  },
);

function stackOf<In, Out extends Outputs>({ embed, block, count, head, tie = {} }: StackOptions<In, Out>): Stack<In> {
  /** Applies a part to its own parameters among these, all of which it consumes. */
  const applied = <X, Y extends Outputs>(
    name: string,
    part: Model<X, Y>,
    params: Tensors,
    x: X,
    ctx: ApplyContext,
  ): Y => {
    const y = tapChild(
      name,
      () =>
        part.apply(
          select(name, params, (param) => param.ref),
          x,
          ctx,
        ) as Y,
    );
    for (const param of Object.values(params)) param.dispose();
    return y;
  };
  return {
    layers: Array.from({ length: count }, (_, i) => ({ prefix: `layers.${i}.`, kind: "block" })),
    embed: (params, inputs, ctx) => applied("embed", embed, params, inputs, ctx),
    layer: (_kind, params, hidden, _inputs, ctx) => block.apply(params, hidden, ctx) as Tensor,
    head(params, hidden, ctx) {
      const shared = Object.entries(tie).map(([own, other]) => [own, params[other]!.ref] as const);
      return applied("head", head, { ...params, ...Object.fromEntries(shared) }, hidden, ctx);
    },
  };
}

function checkPart(name: string, part: Model<never>): void {
  if (typeof part?.apply !== "function") throw new OptionError(`stack: Expected \`${name}\` to be a model`);
  if (part.initState)
    throw new OptionError(
      `stack: \`${name}\` has buffers, as batchNorm() has, and a stack is computed layer by layer without them. Use layerNorm or rmsNorm, or sequential() instead of stack().`,
      { option: name },
    );
}

/** Both names exist, and their shapes are equal. */
function checkTies(tie: Readonly<Record<string, string>>, embed: HostTensors, head: HostTensors): void {
  for (const [own, other] of Object.entries(tie)) {
    for (const [name, part] of [
      [own, head],
      [other, embed],
    ] as const) {
      if (Object.hasOwn(part, name)) continue;
      throw new OptionError(
        `stack: \`tie\` names \`${name}\`, which is no parameter of \`${part === head ? "head" : "embed"}\`.${didYouMean(name, Object.keys(part))} Its parameters: ${Object.keys(part).join(", ")}.`,
        { option: "tie" },
      );
    }
    const [a, b] = [head[own]!.shape, embed[other]!.shape];
    if (a.join() === b.join()) continue;
    throw new OptionError(
      `stack: \`tie\` makes \`${own}\` [${a.join(", ")}] the same as \`${other}\` [${b.join(", ")}], which has another shape.`,
      { option: "tie" },
    );
  }
}
