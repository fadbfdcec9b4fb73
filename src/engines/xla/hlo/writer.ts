// Writes operations of StableHLO as text. Each returns its result; an operation that is already there is not written again.
import { sameShape } from "../../lower/view.ts";
import { isFloat, numberText, tensor, typeOf, type HloType, type Shape, type Value } from "./types.ts";

/** From, to and step of a slice along one dimension. */
export type Range = readonly [from: number, to: number, step?: number];
export type Combine = "add" | "multiply" | "minimum" | "maximum" | "and" | "or";

export class HloWriter {
  readonly lines: string[] = [];
  readonly #known = new Map<string, Value>();
  #next = 0;

  /** `text` is what stands behind the name and `=`. */
  emit(text: string, shape: Shape, type: HloType): Value {
    return this.#once(text, () => {
      const value = { name: this.#name(), shape, type };
      this.lines.push(`${value.name} = ${text}`);
      return value;
    });
  }

  /** The results of an operation that has several. */
  emitAll(text: string, results: readonly Omit<Value, "name">[]): Value[] {
    const first = this.#once(text, () => {
      const name = this.#name();
      this.lines.push(`${name}:${results.length} = ${text}`);
      return { ...results[0]!, name };
    });
    return results.map((result, i) => ({ ...result, name: `${first.name}#${i}` }));
  }

  /** One number in every place. */
  constant(value: number, shape: Shape, type: HloType): Value {
    return this.emit(`stablehlo.constant dense<${numberText(value, type)}> : ${tensor(shape, type)}`, shape, type);
  }

  iota(shape: Shape, axis: number, type: HloType): Value {
    return this.emit(`stablehlo.iota dim = ${axis} : ${tensor(shape, type)}`, shape, type);
  }

  reshape(value: Value, shape: Shape): Value {
    if (sameShape(value.shape, shape)) return value;
    return this.#moved(`stablehlo.reshape ${value.name}`, value, shape);
  }

  transpose(value: Value, order: readonly number[]): Value {
    if (order.every((axis, i) => axis === i)) return value;
    const shape = order.map((axis) => value.shape[axis]!);
    return this.#moved(`stablehlo.transpose ${value.name}, dims = [${order.join(", ")}]`, value, shape);
  }

  /** `dims`: which dimension of the result each one of the value becomes. */
  broadcast(value: Value, dims: readonly number[], shape: Shape): Value {
    if (sameShape(value.shape, shape)) return value;
    return this.#moved(`stablehlo.broadcast_in_dim ${value.name}, dims = [${dims.join(", ")}]`, value, shape);
  }

  slice(value: Value, ranges: readonly Range[]): Value {
    const shape = ranges.map(([from, to, step = 1]) => Math.ceil((to - from) / step));
    if (sameShape(value.shape, shape)) return value;
    const text = ranges.map(([from, to, step = 1]) => (step === 1 ? `${from}:${to}` : `${from}:${to}:${step}`));
    return this.#moved(`stablehlo.slice ${value.name} [${text.join(", ")}]`, value, shape);
  }

  reverse(value: Value, axes: readonly number[]): Value {
    if (axes.length === 0) return value;
    const text = `stablehlo.reverse ${value.name}, dims = [${axes.join(", ")}] : ${typeOf(value)}`;
    return this.emit(text, value.shape, value.type);
  }

  /** Puts the value into zeros: at `low`, with `interior` zeros between its numbers. */
  pad(value: Value, low: readonly number[], shape: Shape, interior: readonly number[] = shape.map(() => 0)): Value {
    if (sameShape(value.shape, shape)) return value;
    const inner = value.shape.map((n, i) => n + Math.max(n - 1, 0) * interior[i]!);
    const high = shape.map((n, i) => n - low[i]! - inner[i]!);
    const zero = this.constant(0, [], value.type);
    const lists = `low = [${low.join(", ")}], high = [${high.join(", ")}], interior = [${interior.join(", ")}]`;
    const types = `(${typeOf(value)}, ${typeOf(zero)}) -> ${tensor(shape, value.type)}`;
    return this.emit(`stablehlo.pad ${value.name}, ${zero.name}, ${lists} : ${types}`, shape, value.type);
  }

  concatenate(values: readonly Value[], axis: number): Value {
    const [first] = values;
    if (values.length === 1) return first!;
    const length = values.reduce((sum, { shape }) => sum + shape[axis]!, 0);
    const shape = first!.shape.map((n, i) => (i === axis ? length : n));
    const names = values.map(({ name }) => name).join(", ");
    const types = `(${values.map(typeOf).join(", ")}) -> ${tensor(shape, first!.type)}`;
    return this.emit(`stablehlo.concatenate ${names}, dim = ${axis} : ${types}`, shape, first!.type);
  }

  unary(op: string, value: Value): Value {
    return this.emit(`stablehlo.${op} ${value.name} : ${typeOf(value)}`, value.shape, value.type);
  }

  binary(op: string, a: Value, b: Value): Value {
    return this.emit(`stablehlo.${op} ${a.name}, ${b.name} : ${typeOf(a)}`, a.shape, a.type);
  }

  compare(direction: "LT" | "LE" | "EQ" | "NE", a: Value, b: Value): Value {
    const kind = isFloat(a.type) ? "FLOAT" : a.type === "i32" ? "SIGNED" : "UNSIGNED";
    const types = `(${typeOf(a)}, ${typeOf(b)}) -> ${tensor(a.shape, "i1")}`;
    return this.emit(`stablehlo.compare ${direction}, ${a.name}, ${b.name}, ${kind} : ${types}`, a.shape, "i1");
  }

  select(condition: Value, then: Value, otherwise: Value): Value {
    const names = `${condition.name}, ${then.name}, ${otherwise.name}`;
    return this.emit(`stablehlo.select ${names} : ${typeOf(condition)}, ${typeOf(then)}`, then.shape, then.type);
  }

  /** Of a truth value: 0 or 1. To a truth value: what is not 0. */
  convert(value: Value, type: HloType): Value {
    if (value.type === type) return value;
    if (type === "i1") return this.compare("NE", value, this.constant(0, value.shape, value.type));
    return this.#moved(`stablehlo.convert ${value.name}`, value, value.shape, type);
  }

  /** The same value, of which XLA does not know that it is; it is there after the others. */
  barrier(value: Value, ...after: readonly Value[]): Value {
    const all = [value, ...after];
    const text = `stablehlo.optimization_barrier ${all.map(({ name }) => name).join(", ")} : ${all.map(typeOf).join(", ")}`;
    return after.length === 0 ? this.emit(text, value.shape, value.type) : this.emitAll(text, all)[0]!;
  }

  bitcast(value: Value, type: HloType): Value {
    return this.#moved(`stablehlo.bitcast_convert ${value.name}`, value, value.shape, type);
  }

  reduce(value: Value, combine: Combine, axes: readonly number[]): Value {
    const initial = this.constant(neutral(combine, value.type), [], value.type);
    const shape = value.shape.filter((_, i) => !axes.includes(i));
    const types = `(${typeOf(value)}, ${typeOf(initial)}) -> ${tensor(shape, value.type)}`;
    return this.emit(
      `stablehlo.reduce(${value.name} init: ${initial.name}) applies stablehlo.${combine} across dimensions = [${axes.join(", ")}] : ${types}`,
      shape,
      value.type,
    );
  }

  #moved(text: string, value: Value, shape: Shape, type: HloType = value.type): Value {
    return this.emit(`${text} : (${typeOf(value)}) -> ${tensor(shape, type)}`, shape, type);
  }

  #name(): string {
    return `%${this.#next++}`;
  }

  #once(text: string, make: () => Value): Value {
    let known = this.#known.get(text);
    if (!known) this.#known.set(text, (known = make()));
    return known;
  }
}

/** A function of two numbers, as a region of an operation that takes one. */
export function region(combine: Combine | "second", type: HloType): string {
  const scalar = tensor([], type);
  const head = `({\n  ^bb0(%a: ${scalar}, %b: ${scalar}):`;
  if (combine === "second") return `${head}\n    stablehlo.return %b : ${scalar}\n  })`;
  return `${head}\n    %c = stablehlo.${combine} %a, %b : ${scalar}\n    stablehlo.return %c : ${scalar}\n  })`;
}

/** What changes nothing when it is combined. */
export function neutral(combine: Combine, type: HloType): number {
  if (combine === "add" || combine === "or") return 0;
  if (combine === "multiply" || combine === "and") return 1;
  const sign = combine === "minimum" ? 1 : -1;
  if (isFloat(type)) return sign * Infinity;
  if (type === "ui32") return sign === 1 ? 2 ** 32 - 1 : 0;
  return sign === 1 ? 2 ** 31 - 1 : -(2 ** 31);
}
