// Whether each row of the outputs depends on its own row of the inputs alone. Rows of several calls are computed together,
// and padded to a few sizes: a model that mixes them would give other numbers then.
import { ProgramError } from "../core/errors.ts";
import { arrayTypes, type ArrayType, type Dim, type Equation, type ForwardProgram, type Operand } from "./program.ts";

/** Throws an error that names the layer in which rows meet. */
export function checkRows(program: ForwardProgram): void {
  const types = arrayTypes(program);
  const first = program.inputs.length + program.params.length + program.buffers.length;
  /** Arrays that count the rows: good for nothing but finding one's own row again. */
  const counting = new Set<number>();
  for (const [i, constant] of program.constants.entries())
    if ("axis" in constant && constant.axis === rowAxis(constant)) counting.add(first + i);
  let next = first + program.constants.length;
  for (const equation of program.equations) {
    const out = next;
    next += equation.out.length;
    const countsIn = equation.in.map((operand) => typeof operand === "number" && counting.has(operand));
    const why = mixing(
      equation,
      equation.in.map((operand) => typeOf(operand, types)),
      countsIn,
    );
    if (why !== undefined) throw mixed(program, equation, why);
    if (countsIn.some(Boolean) && COUNTS_STILL.has(equation.op)) counting.add(out);
  }
}

/** A count of rows that was only moved is one still. */
const COUNTS_STILL: ReadonlySet<string> = new Set(["reshape", "broadcast", "transpose", "cast"]);

function mixed(program: ForwardProgram, { op, layer }: Equation, why: string): ProgramError {
  const name = program.layers[layer] ?? "";
  const where = name === "" ? "" : ` of layer \`${name}\``;
  return new ProgramError(
    `The rows of a batch are not independent: \`${op}\`${where} ${why}. A model that is exported or served must give each row the same outputs, whatever rows are beside it.`,
  );
}

const SCALAR: ArrayType = { shape: [], dtype: "float32" };
const typeOf = (operand: Operand, types: readonly ArrayType[]): ArrayType =>
  typeof operand === "number" ? types[operand]! : SCALAR;

const isFree = (dim: Dim): boolean => typeof dim !== "number";
/** The dimension that grows with the rows; −1 if there is none. */
const rowAxis = ({ shape }: ArrayType): number => shape.findIndex(isFree);
const sizeBefore = (shape: readonly Dim[], axis: number): number =>
  shape.slice(0, axis).reduce<number>((size, dim) => size * (dim as number), 1);

/** How an equation mixes rows; undefined if it does not. */
function mixing(equation: Equation, ins: readonly ArrayType[], counts: readonly boolean[]): string | undefined {
  const { op, params, out } = equation;
  const rows = ins.map(rowAxis);
  if (rows.every((axis) => axis < 0) && out.every((type) => rowAxis(type) < 0)) return undefined;
  if (out.some(({ shape }) => shape.filter(isFree).length > 1)) return "puts every row beside every other";
  if (counts.some(Boolean) && op !== "gather" && !COUNTS_STILL.has(op))
    return "uses the position of a row in its batch";
  const [own = -1] = rows;
  const last = (ins[0]?.shape.length ?? 0) - 1;
  const along = (...axes: readonly number[]): string | undefined =>
    own >= 0 && axes.includes(own) ? "works along the rows" : undefined;
  switch (op) {
    case "reduce":
    case "flip":
      return along(...(params.axis as readonly number[]));
    case "split":
    case "concatenate":
      return rows.some((axis) => axis >= 0 && axis === params.axis) ? "works along the rows" : undefined;
    case "dot":
      return rows.some((axis, i) => axis >= 0 && axis === ins[i]!.shape.length - 1) ? "sums over the rows" : undefined;
    case "reshape": {
      const to = rowAxis(out[0]!);
      const keeps = to >= 0 && sizeBefore(ins[0]!.shape, own) === sizeBefore(out[0]!.shape, to);
      return keeps ? undefined : "takes rows apart";
    }
    case "shrink": {
      const [from, to] = (params.slice as readonly (readonly [Dim, Dim])[])[own] ?? [0, 0];
      return from === 0 && to === ins[0]!.shape[own] ? undefined : "takes some of the rows";
    }
    case "pad":
      return (params.width as readonly (readonly Dim[])[])[own]?.every((size) => size === 0) ? undefined : "adds rows";
    case "conv":
      return own === params.vmapDims && rows[1]! < 0 ? undefined : "works along the rows";
    case "pool":
    case "pool_transpose":
      return own <= last - (params.window as readonly number[]).length ? undefined : "works along the rows";
    case "gather":
      return gathered(equation, own, rows, counts);
    case "sort":
    case "argsort":
    case "fft":
      return along(last);
    case "cholesky":
    case "lu":
    case "triangular_solve":
    case "jacobi_eigh":
      return along(last, last - 1);
    case "scatter":
    case "random_bits":
      return "gives every row another number";
    default:
      return undefined;
  }
}

/** Rows of a table that is no batch may be taken by any index; those of a batch only by their own position. */
function gathered(
  { params }: Equation,
  own: number,
  [, ...indices]: readonly number[],
  counts: readonly boolean[],
): string | undefined {
  const at = (params.axis as readonly number[]).indexOf(own);
  if (own >= 0 && at < 0)
    return indices.some((axis) => axis >= 0) ? "takes from every row what belongs to one" : undefined;
  if (at >= 0 && !counts[at + 1]) return "takes some of the rows";
  return counts.some((each, i) => each && i !== at + 1) ? "uses the position of a row in its batch" : undefined;
}
