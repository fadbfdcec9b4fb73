// Traces of one model with different numbers of rows, merged into one program for any number.
import type { DType } from "../core/arrays.ts";
import { ProgramError } from "../core/errors.ts";
import { comparisonType, type Atom, type Equation as TracedEquation } from "../engines/lower/trace.ts";
import type { ForwardTrace } from "./capture.ts";
import { mergeConstants } from "./constants.ts";
import { keepLive, type LiveTrace } from "./live-trace.ts";
import {
  mergeSizes,
  OPERATIONS,
  type ArrayType,
  type Constant,
  type Equation,
  type ForwardProgram,
  type NamedArray,
  type Operand,
  type Param,
  type Params,
} from "./program.ts";

interface Names {
  readonly params: readonly string[];
  readonly buffers: readonly string[];
  readonly inputs: readonly string[];
}

const DTYPES: readonly string[] = ["float32", "int32", "uint32", "bool"] satisfies DType[];

/** The first trace decides what the program is; the others must have the same equations. */
export function mergeTraces(traces: readonly ForwardTrace[], names: Names): ForwardProgram {
  return new Merger(traces.map(keepLive), names).program();
}

/** Atoms at the same place of every trace. */
type Atoms = readonly Atom[];

class Merger {
  readonly #traces: readonly LiveTrace[];
  readonly #rows: readonly number[];
  readonly #first: LiveTrace;
  readonly #names: Names;
  /** Of each trace: the number of each of its arrays. */
  readonly #numbers: readonly Map<Atom, Operand>[];
  readonly #equations: Equation[] = [];
  readonly #layers: string[] = [];
  /** The type of each array, by its number. */
  readonly #types: ArrayType[] = [];

  constructor(traces: readonly LiveTrace[], names: Names) {
    this.#traces = traces;
    this.#rows = traces.map(({ rows }) => rows);
    this.#first = traces[0]!;
    this.#names = names;
    this.#numbers = traces.map(() => new Map());
  }

  program(): ForwardProgram {
    const { params, buffers, inputs } = this.#names;
    const named = (from: number, list: readonly string[], keepAll: boolean): NamedArray[] =>
      list.flatMap((name, i) => {
        const atoms = this.#traces.map(({ args }) => args[from + i]!);
        if (!keepAll && !this.#first.isUsed(atoms[0]!)) return [];
        const type = this.#type(atoms, `the array \`${name}\``);
        this.#add(atoms, type);
        return [{ name, ...type }];
      });
    // What a forward pass does not read, such as labels, is no input of it.
    const fields = named(params.length + buffers.length, inputs, false);
    const weights = named(0, params, true);
    const state = named(params.length, buffers, true);
    const constants = this.#constants();
    this.#mergeEquations();
    return {
      inputs: fields,
      params: weights,
      buffers: state,
      constants,
      equations: this.#equations,
      outputs: this.#outputs(),
      single: this.#first.single,
      layers: this.#layers,
    };
  }

  /** In the order in which the equations use them. */
  #constants(): Constant[] {
    const [own, ...others] = this.#traces.map(({ equations, outputs, constantAt }) => {
      const used = [...equations.flatMap(({ inputs }) => inputs), ...outputs.map(({ atom }) => atom)];
      return [...new Set(used.filter((atom) => constantAt(atom) !== undefined))];
    });
    if (others.some((list) => list.length !== own!.length)) throw differs("the constants of the model");
    return own!.map((atom, i) => {
      const atoms = [atom, ...others.map((list) => list[i]!)];
      const type = this.#type(atoms, "a constant of the model");
      this.#add(atoms, type);
      const data = atoms.map((each, j) => this.#traces[j]!.constantAt(each)!);
      const found = mergeConstants(
        type,
        atoms.map(({ aval }) => aval.shape),
        data,
      );
      if (!found) throw differs("a constant that the model makes");
      return found;
    });
  }

  #mergeEquations(): void {
    const lists = this.#traces.map(({ equations }) => equations);
    if (lists.some(({ length }) => length !== lists[0]!.length)) throw differs("the computation");
    for (const i of lists[0]!.keys()) this.#mergeEquation(lists.map((list) => list[i]!));
  }

  #mergeEquation(equations: readonly TracedEquation[]): void {
    const [{ primitive: op, inputs, outBinders }] = equations as [TracedEquation];
    const layer = this.#first.layerOf(equations[0]!);
    const where = `the primitive \`${op}\`${layer === "" ? "" : ` of layer \`${layer}\``}`;
    if (op !== "stop_gradient" && !OPERATIONS.has(op))
      throw new ProgramError(`Cannot capture ${where}: it is not supported.`);
    if (equations.some((each) => each.primitive !== op)) throw differs(where);
    const operands = inputs.map((_, k) =>
      this.#operand(
        equations.map((each) => each.inputs[k]!),
        where,
      ),
    );
    const outs = outBinders.map((_, k) => equations.map((each) => each.outBinders[k]!));
    if (op === "stop_gradient") return this.#number(outs[0]!, operands[0]!);
    const typeOf = computedType(op, inputs, outBinders[0]!.aval.dtype);
    const equation = {
      op,
      in: operands.map((operand, k) => this.#cast(operand, typeOf(k), layer)),
      params: this.#params(equations.map((each) => each.params) as Params[], where),
      out: outs.map((atoms) => this.#type(atoms, where)),
      layer: this.#layer(layer),
    };
    for (const [k, atoms] of outs.entries()) this.#add(atoms, equation.out[k]!);
    this.#equations.push(equation);
  }

  #operand(atoms: Atoms, where: string): Operand {
    const [first] = atoms as [Atom];
    if ("value" in first) {
      const value = Number(first.value);
      if (atoms.some((atom) => !("value" in atom) || !Object.is(Number(atom.value), value))) throw differs(where);
      return { value, dtype: first.aval.dtype };
    }
    const operands = atoms.map((atom, i) => this.#numbers[i]!.get(atom));
    if (operands[0] === undefined || operands.some((each) => each !== operands[0])) throw differs(where);
    return operands[0];
  }

  /** The operand as this type. jax-js converts silently; a program says so. */
  #cast(operand: Operand, dtype: DType | undefined, layer: string): Operand {
    if (typeof operand === "object") return dtype ? { value: literalAs(operand.value, dtype), dtype } : operand;
    const type = this.#types[operand]!;
    if (dtype === undefined || type.dtype === dtype) return operand;
    const out = { shape: type.shape, dtype };
    this.#equations.push({ op: "cast", in: [operand], params: { dtype }, out: [out], layer: this.#layer(layer) });
    return this.#add([], out);
  }

  #type(atoms: Atoms, where: string): ArrayType {
    const { dtype } = atoms[0]!.aval;
    if (!DTYPES.includes(dtype))
      throw new ProgramError(`Cannot capture ${where}: arrays of ${dtype} are not supported.`);
    const shape = this.#merge(
      atoms.map(({ aval }) => aval.shape),
      where,
    ) as ArrayType["shape"];
    return { shape, dtype };
  }

  #params(given: readonly Params[], where: string): Params {
    const names = Object.keys(given[0]!);
    return Object.fromEntries(
      names.map((name) => [
        name,
        this.#merge(
          given.map((params) => params[name]!),
          where,
        ),
      ]),
    );
  }

  #merge(values: readonly Param[], where: string): Param {
    const [first] = values as [Param];
    if (typeof first === "number") {
      const size = mergeSizes(values as readonly number[], this.#rows);
      if (size !== undefined) return size;
    } else if (Array.isArray(first)) {
      if (values.every((value) => Array.isArray(value) && value.length === first.length))
        return first.map((_, i) =>
          this.#merge(
            values.map((value) => (value as Param[])[i]!),
            where,
          ),
        );
    } else if (values.every((value) => value === first)) return first;
    throw differs(where);
  }

  /** Gives the next number to an array of this type. */
  #add(atoms: Atoms, type: ArrayType): number {
    const number = this.#types.push(type) - 1;
    this.#number(atoms, number);
    return number;
  }

  #number(atoms: Atoms, operand: Operand): void {
    for (const [i, atom] of atoms.entries()) this.#numbers[i]!.set(atom, operand);
  }

  #layer(path: string): number {
    const found = this.#layers.indexOf(path);
    return found < 0 ? this.#layers.push(path) - 1 : found;
  }

  #outputs(): ForwardProgram["outputs"] {
    return this.#first.outputs.map(({ name }, i) => {
      const atoms = this.#traces.map(({ outputs }) => outputs[i]!.atom);
      const of = this.#operand(atoms, `the output \`${name}\``);
      if (typeof of === "number" && this.#types[of]!.shape[0] === "n") return { name, of };
      const shape = typeof of === "number" ? this.#types[of]!.shape : [];
      throw new ProgramError(
        `The output \`${name}\` has shape [${shape.join(", ")}], where n is the number of rows. A model that is exported or served returns a row for each row it is given: the first dimension must be n.`,
      );
    });
  }
}

/** The type in which a primitive takes its operand k; undefined: as it comes. */
function computedType(op: string, inputs: readonly Atom[], out: DType): (k: number) => DType | undefined {
  if (op === "compare") {
    const common = comparisonType(inputs.map(({ aval }) => aval));
    return () => common;
  }
  if (op === "where") return (k) => (k === 0 ? "bool" : out);
  return () => (SAME_TYPE.has(op) ? out : undefined);
}

/** Primitives that compute in the type of their result. */
const SAME_TYPE: ReadonlySet<string> = new Set([
  ..."add mul min max idiv mod neg reciprocal floor ceil sin cos asin atan exp log erf erfc sqrt".split(" "),
  ..."bit_combine bit_shift dot conv concatenate".split(" "),
]);

function literalAs(value: number, dtype: DType): number {
  if (dtype === "bool") return value === 0 ? 0 : 1;
  return dtype === "float32" ? value : Math.trunc(value);
}

const differs = (what: string): ProgramError =>
  new ProgramError(
    `The forward pass depends on the number of rows in ${what}, and not by sizes that grow evenly with it. A model that is exported or served must treat every row alike, whatever their number.`,
  );
