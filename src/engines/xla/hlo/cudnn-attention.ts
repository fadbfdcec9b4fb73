// Attention by cuDNN's fused kernels: two calls that XLA knows by name, for operands [batch, tokens, heads, features] in
// bfloat16. The first returns statistics of each row, with which the second computes the derivatives.
import type { Attention } from "../../lower/attention.ts";
import { tensor, typeOf, type Shape, type Value } from "./types.ts";
import type { HloWriter } from "./writer.ts";

/** Features of a head, in eighths; tokens in pairs. Shorter sequences gain nothing. */
const MOST_FEATURES = 128;
const FEWEST_TOKENS = 64;

/** Can cuDNN compute it? */
export function suitsCudnn({ q, k, v, seen }: Attention): boolean {
  const [batch, tokens, heads, features] = q.view.shape as readonly [number, number, number, number];
  const shared = k.view.shape[2]!;
  const [batches, headsSeen, queries, keys] = seen?.view.shape ?? [1, 1, tokens, tokens];
  return (
    [k, v].every(({ view }) => view.shape.join() === [batch, tokens, shared, features].join()) &&
    heads % shared === 0 &&
    [1, batch].includes(batches!) &&
    [1, heads].includes(headsSeen!) &&
    queries === tokens &&
    keys === tokens &&
    tokens % 2 === 0 &&
    tokens >= FEWEST_TOKENS &&
    features % 8 === 0 &&
    features <= MOST_FEATURES
  );
}

type AttentionForm = Pick<Attention, "isCausal" | "scale">;

interface Operands {
  readonly q: Value;
  readonly k: Value;
  readonly v: Value;
  /** Added to the scores, [batch or 1, heads or 1, tokens, tokens]. */
  readonly bias: Value | undefined;
}

/** cuDNN subtracts two of them from each other, and may not get infinity. */
const HIDDEN = -(2 ** 41);

/** Adds nothing to the scores that are seen, and hides the others. */
export function hidingBias(writer: HloWriter, seen: Value): Value {
  const numbers = [0, HIDDEN].map((n) => writer.constant(n, seen.shape, "bf16")) as [Value, Value];
  return writer.select(seen, ...numbers);
}

/** The result is [batch, heads, tokens, features]. */
export function attentionForward(writer: HloWriter, { q, k, v, bias }: Operands, form: AttentionForm) {
  const config = {
    ...common(q.shape, form),
    bmm1_dot_dimension_numbers: dimensions([3], [3], [0, 2], [0, 2]),
    bmm2_dot_dimension_numbers: dimensions([3], [1], [0, 1], [0, 2]),
  };
  const [batch, tokens, heads] = q.shape as readonly [number, number, number];
  const results = [headsFirst(q.shape), tensor([batch, heads, tokens], "f32")];
  const layouts = [HEADS_FIRST, ROWS];
  const given = [q, k, v, ...(bias ? [bias] : [])];
  const name = call(writer, bias ? "fmhaScaleBiasSoftmax" : "fmhaSoftmax", given, config, results, layouts);
  return {
    out: { name: `${name}#0`, shape: [batch, heads, tokens, q.shape[3]!], type: "bf16" } as Value,
    statistics: { name: `${name}#1`, shape: [batch, heads, tokens], type: "f32" } as Value,
  };
}

/** The derivatives of q, k and v, each [batch, its heads, tokens, features]. */
export function attentionBackward(
  writer: HloWriter,
  { q, k, v, bias }: Operands,
  forward: { readonly out: Value; readonly statistics: Value },
  outGradient: Value,
  form: AttentionForm,
): readonly [Value, Value, Value] {
  const config = {
    ...common(q.shape, form),
    bmm1_grad_gemm1_dot_dimension_numbers: dimensions([2], [1], [0, 1], [0, 2]),
    bmm1_grad_gemm2_dot_dimension_numbers: dimensions([3], [1], [0, 1], [0, 2]),
    bmm2_grad_gemm1_dot_dimension_numbers: dimensions([2], [1], [0, 1], [0, 2]),
    bmm2_grad_gemm2_dot_dimension_numbers: dimensions([3], [3], [0, 2], [0, 2]),
  };
  const out = writer.transpose(forward.out, [0, 2, 1, 3]);
  const given = [q, k, v, forward.statistics, outGradient, ...(bias ? [bias] : []), out];
  const results = [q, k, v].map(({ shape }) => headsFirst(shape));
  const layouts = [HEADS_FIRST, HEADS_FIRST, HEADS_FIRST];
  const target = bias ? "fmhaScaleBiasSoftmaxBackward" : "fmhaSoftmaxBackward";
  const name = call(writer, target, given, config, results, layouts);
  const result = ({ shape }: Value, i: number): Value => {
    const [batch, tokens, heads, features] = shape as readonly [number, number, number, number];
    return { name: `${name}#${i}`, shape: [batch, heads, tokens, features], type: "bf16" };
  };
  return [result(q, 0), result(k, 1), result(v, 2)];
}

const headsFirst = ([batch, tokens, heads, features]: Shape): string =>
  tensor([batch!, heads!, tokens!, features!], "bf16");

const IN_ORDER = "dense<[3, 2, 1, 0]> : tensor<4xindex>";
/** [batch, heads, tokens, features] that lies as [batch, tokens, heads, features]. */
const HEADS_FIRST = "dense<[3, 1, 2, 0]> : tensor<4xindex>";
const ROWS = "dense<[2, 1, 0]> : tensor<3xindex>";
const SCRATCH = "dense<0> : tensor<1xindex>";

/** Behind the results comes scratch memory, whose size XLA chooses. */
function call(
  writer: HloWriter,
  name: string,
  operands: readonly Value[],
  config: object,
  results: readonly string[],
  layouts: readonly string[],
): string {
  const text = JSON.stringify({ operation_queue_id: "0", cudnn_fmha_backend_config: config }).replaceAll('"', "\\22");
  const given = operands.map(({ shape }) => (shape.length === 4 ? IN_ORDER : ROWS));
  const [first] = writer.emitAll(
    `stablehlo.custom_call @__cudnn$${name}(${operands.map((one) => one.name).join(", ")}) {api_version = 2 : i32, backend_config = "${text}", operand_layouts = [${given.join(", ")}], result_layouts = [${[...layouts, SCRATCH].join(", ")}]} : (${operands.map(typeOf).join(", ")}) -> (${[...results, "tensor<0xui8>"].join(", ")})`,
    [...results, ""].map(() => ({ shape: [], type: "bf16" })),
  );
  return first!.name.replace(/#0$/, "");
}

const strings = (numbers: readonly number[]): string[] => numbers.map(String);

const dimensions = (left: number[], right: number[], leftBatch: number[], rightBatch: number[]) => ({
  lhs_contracting_dimensions: strings(left),
  rhs_contracting_dimensions: strings(right),
  lhs_batch_dimensions: strings(leftBatch),
  rhs_batch_dimensions: strings(rightBatch),
});

function common([batch, tokens, heads]: Shape, { isCausal, scale }: AttentionForm) {
  return {
    algorithm: {
      algo_id: "0",
      math_type: "TENSOR_OP_MATH",
      tuning_knobs: { 17: "1", 24: "0" },
      is_cudnn_frontend: true,
      workspace_size: "0",
    },
    fmha_scale: scale,
    intermediate_tensor_shape: {
      element_type: "BF16",
      dimensions: strings([batch!, heads!, tokens!, tokens!]),
      tuple_shapes: [],
      layout: {
        dim_level_types: [],
        dim_unique: [],
        dim_ordered: [],
        minor_to_major: ["3", "2", "1", "0"],
        tiles: [],
        element_size_in_bits: "0",
        memory_space: "0",
        index_primitive_type: "PRIMITIVE_TYPE_INVALID",
        pointer_primitive_type: "PRIMITIVE_TYPE_INVALID",
        dynamic_shape_metadata_prefix_bytes: "0",
      },
      is_dynamic_dimension: [false, false, false, false],
    },
    is_flash_attention: true,
    mask_type: isCausal ? "CAUSAL" : "NO_MASK",
    dropout_rate: 0,
    seed: 42,
    sliding_window_length: 0,
    max_seg_per_batch: 1,
    is_paged_attention: false,
  };
}
