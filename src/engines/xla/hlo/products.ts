// Products: the graph's dot becomes a dot_general with batch, free and contracted dimensions; convolutions stay whole.
import { sizeOf } from "../../../core/arrays.ts";
import type { ConvParams } from "../../lower/conv.ts";
import { ownDims } from "./views.ts";
import type { View } from "../../lower/view.ts";
import { tensor, typeOf, type HloType, type Shape, type Value } from "./types.ts";
import type { HloWriter } from "./writer.ts";

/** One side of a dot: what it does not repeat (`seenOnce`), and the view that says which dimensions those are. */
export interface Side {
  readonly value: Value;
  readonly view: View;
  /** A number has no dimensions of its own, whatever its view says. */
  readonly isNumber: boolean;
}

/** Of operands in bfloat16 or in whole numbers the default is exact enough; of float32 it would be TF32 on a GPU. */
const precisionOf = (type: HloType): string => (type === "f32" ? "HIGHEST" : "DEFAULT");

/** The sum over the last dimension of both views, which have `shape` in front of it. */
export function dot(writer: HloWriter, sides: readonly [Side, Side], shape: Shape, type: HloType): Value {
  const all = [...shape, sides[0].view.shape.at(-1)!];
  const inner = shape.length;
  const operand = ({ value, view, isNumber }: Side): Operand => ({ value, dims: isNumber ? [] : ownDims(view) });
  let [left, right] = [operand(sides[0]), operand(sides[1])];
  let scale = 1;
  if (!left.dims.includes(inner) && !right.dims.includes(inner)) scale = all[inner]!;
  else if (!right.dims.includes(inner)) left = summed(writer, left, inner);
  else if (!left.dims.includes(inner)) right = summed(writer, right, inner);
  const contracted = left.dims.includes(inner) ? [inner] : [];
  const batch = left.dims.filter((i) => i !== inner && right.dims.includes(i));
  const free = ({ dims }: Operand): number[] => dims.filter((i) => i !== inner && !batch.includes(i));
  const made = [...batch, ...free(left), ...free(right)];
  const at = ({ dims }: Operand, of: readonly number[]): string => `[${of.map((i) => dims.indexOf(i)).join(", ")}]`;
  const pair = (of: readonly number[]): string => `${at(left, of)} x ${at(right, of)}`;
  const batching = batch.length === 0 ? "" : `batching_dims = ${pair(batch)}, `;
  const precision = precisionOf(left.value.type);
  const result = made.map((i) => all[i]!);
  const product = writer.emit(
    `stablehlo.dot_general ${left.value.name}, ${right.value.name}, ${batching}contracting_dims = ${pair(contracted)}, precision = [${precision}, ${precision}] : (${typeOf(left.value)}, ${typeOf(right.value)}) -> ${tensor(result, type)}`,
    result,
    type,
  );
  const scaled = scale === 1 ? product : writer.binary("multiply", product, writer.constant(scale, result, type));
  const order = [...made].sort((a, b) => a - b);
  const inOrder = writer.transpose(
    scaled,
    order.map((i) => made.indexOf(i)),
  );
  return writer.broadcast(inOrder, order, shape);
}

interface Operand {
  readonly value: Value;
  /** Which dimension of the product each of the value's is. */
  readonly dims: readonly number[];
}

/** What the other side only repeats is summed first. */
function summed(writer: HloWriter, { value, dims }: Operand, inner: number): Operand {
  return { value: writer.reduce(value, "add", [dims.indexOf(inner)]), dims: dims.filter((i) => i !== inner) };
}

/** Images [front…, batch, in, …] with kernels [front…, out, in, …]; the dimensions in front are groups of features. */
export function convolution(
  writer: HloWriter,
  image: Value,
  kernel: Value,
  { vmapDims, strides, padding, lhsDilation, rhsDilation }: ConvParams,
  shape: Shape,
  type: HloType,
): Value {
  const front = image.shape.slice(0, vmapDims);
  const groups = sizeOf(front);
  const [batch, channels, ...size] = image.shape.slice(vmapDims) as [number, number, ...number[]];
  const [out, , ...window] = kernel.shape.slice(vmapDims) as [number, number, ...number[]];
  const joined = joinFront(writer, image, vmapDims);
  const kernels = writer.reshape(kernel, [groups * out, channels, ...window]);
  const spatial = size.map((_, i) => i).join(", ");
  const places = shape.slice(vmapDims + 2);
  const result = [batch, groups * out, ...places];
  const list = (numbers: readonly number[]): string => `[${numbers.join(", ")}]`;
  const pads = padding.map((sides) => list(sides)).join(", ");
  const precision = `#stablehlo<precision ${precisionOf(image.type)}>`;
  const made = writer.emit(
    `stablehlo.convolution(${joined.name}, ${kernels.name}) dim_numbers = [b, f, ${spatial}]x[o, i, ${spatial}]->[b, f, ${spatial}], ` +
      `window = {stride = ${list(strides)}, pad = [${pads}], lhs_dilate = ${list(lhsDilation)}, rhs_dilate = ${list(rhsDilation)}} ` +
      `{batch_group_count = 1 : i64, feature_group_count = ${groups} : i64, precision_config = [${precision}, ${precision}]} : ` +
      `(${typeOf(joined)}, ${typeOf(kernels)}) -> ${tensor(result, type)}`,
    result,
    type,
  );
  const apart = writer.reshape(made, [batch, ...front, out, ...places]);
  const order = apart.shape.map((_, i) => (i < vmapDims ? i + 1 : i === vmapDims ? 0 : i));
  return writer.transpose(apart, order);
}

/** [front…, batch, features, …] as [batch, front × features, …]. */
function joinFront(writer: HloWriter, value: Value, front: number): Value {
  const order = value.shape.map((_, i) => (i === 0 ? front : i <= front ? i - 1 : i));
  const moved = writer.transpose(value, order);
  const [batch, ...rest] = moved.shape as [number, ...number[]];
  return writer.reshape(moved, [batch, sizeOf(rest.slice(0, front + 1)), ...rest.slice(front + 1)]);
}
