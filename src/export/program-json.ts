// The JSON form of a forward program. What is read back may come from anywhere, so everything is checked: names, sizes,
// and that each equation uses only what was computed before it.
import type { DType, TypedArray } from "../core/arrays.ts";
import { sizeOf } from "../core/arrays.ts";
import type { HostTensors } from "../core/model.ts";
import type { Json } from "../core/options.ts";
import {
  OPERATIONS,
  parseDim,
  type ArrayType,
  type Constant,
  type Dim,
  type Equation,
  type ForwardProgram,
  type NamedArray,
  type Operand,
  type Param,
  type Params,
} from "./program.ts";

/** Constants with more bytes than this are in a file of tensors beside the JSON. */
const INLINE_BYTES = 4096;
const MOST_EQUATIONS = 1_000_000;
const MOST_DIMENSIONS = 32;
/** Of an array with one row. */
const MOST_NUMBERS = 2 ** 31;

export interface PackedProgram {
  readonly json: Json;
  /** Large constants by name. */
  readonly tensors: HostTensors;
}

export function packProgram(program: ForwardProgram): PackedProgram {
  const tensors: Record<string, HostTensors[string]> = {};
  const constants = program.constants.map((constant, i) => {
    if (!("data" in constant)) return constant;
    const { data, shape, dtype } = constant;
    if (data.byteLength <= INLINE_BYTES) return { shape, dtype, base64: toBase64(data) };
    const name = `constant.${i}`;
    tensors[name] = { data, shape: shape as readonly number[], dtype };
    return { shape, dtype, tensor: name };
  });
  return { json: { ...program, constants } as unknown as Json, tensors };
}

/** Reads what `packProgram` made; `refuse` makes the error from what is wrong. */
export function unpackProgram(json: unknown, tensors: HostTensors, refuse: (reason: string) => Error): ForwardProgram {
  return new Reader(tensors, refuse).program(json);
}

const DTYPES: readonly unknown[] = ["float32", "int32", "uint32", "bool"] satisfies DType[];
const TYPES = { float32: Float32Array, int32: Int32Array, uint32: Uint32Array, bool: Int32Array } as const;

class Reader {
  readonly #tensors: HostTensors;
  readonly #refuse: (reason: string) => Error;
  /** Arrays so far. */
  #count = 0;

  constructor(tensors: HostTensors, refuse: (reason: string) => Error) {
    this.#tensors = tensors;
    this.#refuse = refuse;
  }

  program(json: unknown): ForwardProgram {
    const given = this.#object(json, "program");
    const named = (name: string, free: boolean): NamedArray[] => {
      const arrays = this.#list(given[name], name).map((each, i) => this.#named(each, `${name}[${i}]`, free));
      if (new Set(arrays.map((array) => array.name)).size !== arrays.length) throw this.#bad(`two ${name} of one name`);
      this.#count += arrays.length;
      return arrays;
    };
    const inputs = named("inputs", true);
    if (!inputs.some(({ shape }) => shape[0] === "n")) throw this.#bad("no input whose first dimension is `n`");
    const params = named("params", false);
    const buffers = named("buffers", false);
    const constants = this.#list(given.constants, "constants").map((each, i) =>
      this.#constant(each, `constants[${i}]`),
    );
    this.#count += constants.length;
    const layers = this.#list(given.layers, "layers").map((each) => this.#text(each, "layers"));
    const equations = this.#list(given.equations, "equations").map((each, i) =>
      this.#equation(each, `equations[${i}]`, layers.length),
    );
    const outputs = this.#list(given.outputs, "outputs").map((each, i) => {
      const { name, of } = this.#object(each, `outputs[${i}]`);
      return { name: this.#text(name, `outputs[${i}].name`), of: this.#array(of, `outputs[${i}]`) };
    });
    if (outputs.length === 0) throw this.#bad("no outputs");
    const single = given.single === true && outputs.length === 1;
    return { inputs, params, buffers, constants, equations, outputs, single, layers };
  }

  #named(json: unknown, where: string, free: boolean): NamedArray {
    const given = this.#object(json, where);
    const name = this.#text(given.name, `${where}.name`);
    const type = this.#type(given, where);
    if (!free && type.shape.some((dim) => typeof dim !== "number")) throw this.#bad(`${where} depends on the rows`);
    return { name, ...type };
  }

  #type(json: unknown, where: string): ArrayType {
    const { shape, dtype } = this.#object(json, where);
    if (!DTYPES.includes(dtype)) throw this.#bad(`${where} of an unknown type`);
    const dims = this.#list(shape, `${where}.shape`);
    const sizes = dims.map((dim) => parseDim(dim));
    // The shape of one row; a size below 0 can only come from a damaged file.
    const numbers = sizes.reduce((product, size) => product * (size ? size.perRow + size.fixed : Number.NaN), 1);
    if (dims.length > MOST_DIMENSIONS || !(numbers >= 0 && numbers <= MOST_NUMBERS))
      throw this.#bad(`${where} with the shape ${JSON.stringify(shape)}`);
    return { shape: dims as Dim[], dtype: dtype as DType };
  }

  #constant(json: unknown, where: string): Constant {
    const given = this.#object(json, where);
    const type = this.#type(given, where);
    if (typeof given.fill === "number") return { ...type, fill: given.fill };
    if (given.axis !== undefined) {
      const axis = this.#whole(given.axis, type.shape.length, `${where}.axis`);
      if (typeof given.start !== "number") throw this.#bad(`${where} without a start`);
      return { ...type, axis, start: given.start };
    }
    const data = this.#numbers(given, type.dtype, where);
    if (type.shape.some((dim) => typeof dim !== "number") || data.length !== sizeOf(type.shape as number[]))
      throw this.#bad(`${where} with ${data.length} numbers for the shape ${JSON.stringify(type.shape)}`);
    return { ...type, data };
  }

  #numbers({ base64, tensor }: Record<string, unknown>, dtype: DType, where: string): TypedArray {
    if (typeof tensor === "string") {
      const found = Object.hasOwn(this.#tensors, tensor) ? this.#tensors[tensor]! : undefined;
      if (!found) throw this.#bad(`${where}, whose numbers \`${tensor}\` are not in the file of constants`);
      return found.data instanceof TYPES[dtype] ? found.data : TYPES[dtype].from(found.data);
    }
    try {
      const bytes = Uint8Array.from(atob(base64 as string), (character) => character.charCodeAt(0));
      return new TYPES[dtype](bytes.buffer);
    } catch {
      throw this.#bad(`${where} without numbers`);
    }
  }

  #equation(json: unknown, where: string, layers: number): Equation {
    const given = this.#object(json, where);
    const op = this.#text(given.op, `${where}.op`);
    if (!OPERATIONS.has(op)) throw this.#bad(`${where}, an unknown operation \`${op}\``);
    const operands = this.#list(given.in, `${where}.in`).map((each): Operand => {
      if (typeof each === "number") return this.#array(each, where);
      const { value, dtype } = this.#object(each, `${where}.in`);
      if (typeof value !== "number" || !DTYPES.includes(dtype))
        throw this.#bad(`${where} with an operand that is none`);
      return { value, dtype: dtype as DType };
    });
    if (operands.length === 0) throw this.#bad(`${where} without operands`);
    const params = Object.fromEntries(
      Object.entries(this.#object(given.params, `${where}.params`)).map(([name, value]) => [
        name,
        this.#param(value, where),
      ]),
    ) as Params;
    const out = this.#list(given.out, `${where}.out`).map((each) => this.#type(each, `${where}.out`));
    const layer = this.#whole(given.layer, layers, `${where}.layer`);
    this.#count += out.length;
    return { op, in: operands, params, out, layer };
  }

  #param(value: unknown, where: string, depth = 0): Param {
    if (typeof value === "string" || typeof value === "boolean" || typeof value === "number") return value;
    if (Array.isArray(value) && depth < 3 && value.length <= 4096)
      return value.map((each) => this.#param(each, where, depth + 1));
    throw this.#bad(`${where} with a parameter that is neither text, number nor list`);
  }

  /** An array that is known by now. */
  #array(value: unknown, where: string): number {
    return this.#whole(value, this.#count, where);
  }

  #whole(value: unknown, below: number, where: string): number {
    if (Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < below) return value as number;
    throw this.#bad(`${where}, where ${String(value)} is not one of ${below}`);
  }

  #text(value: unknown, where: string): string {
    if (typeof value === "string" && value.length <= 1024) return value;
    throw this.#bad(`${where}, which is no text`);
  }

  #object(value: unknown, where: string): Record<string, unknown> {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    throw this.#bad(`${where}, which is no object`);
  }

  #list(value: unknown, where: string): readonly unknown[] {
    if (Array.isArray(value) && value.length <= MOST_EQUATIONS) return value;
    throw this.#bad(`${where}, which is no list`);
  }

  #bad(what: string): Error {
    return this.#refuse(`its program has ${what}`);
  }
}

function toBase64(data: TypedArray): string {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return btoa(String.fromCharCode(...bytes));
}
