// ONNX models of one step: two sides `l` and `r`, a result `o`, and everything left out that a model may have.
import { concat, message, string, uint } from "../../core/protobuf.ts";

type Shape = readonly number[];

export interface Shapes {
  readonly left: Shape;
  readonly right: Shape;
  readonly out: Shape;
}

export interface Model {
  readonly bytes: Uint8Array;
  readonly shapes: Shapes;
}

/** Names of the inputs and the output. */
export const LEFT = "l";
export const RIGHT = "r";
export const OUT = "o";

const FLOAT = 1;
const INT64 = 7;
const ATTRIBUTE_INT = 2;
const ATTRIBUTE_INTS = 7;

export function model(shapes: Shapes, operations: readonly Uint8Array[], constants: readonly Uint8Array[] = []): Model {
  const graph = message(
    7,
    ...operations,
    string(2, "step"),
    ...constants,
    tensor(11, LEFT, shapes.left),
    tensor(11, RIGHT, shapes.right),
    tensor(12, OUT, shapes.out),
  );
  // irVersion, the graph, and the sets of operators that it may use.
  const sets = [opset("", 18), opset("com.microsoft", 1), opset("com.microsoft.nchwc", 1)];
  return { bytes: concat([uint(1, 9), graph, ...sets]), shapes };
}

export const operation = (
  name: string,
  inputs: readonly string[],
  output: string,
  settings: readonly Uint8Array[] = [],
  domain = "",
): Uint8Array =>
  message(
    1,
    ...inputs.map((input) => string(1, input)),
    string(2, output),
    string(4, name),
    ...settings,
    string(7, domain),
  );

export const attribute = (name: string, value: number): Uint8Array =>
  message(5, string(1, name), uint(3, value), uint(20, ATTRIBUTE_INT));

export const attributes = (name: string, values: readonly number[]): Uint8Array =>
  message(5, string(1, name), ...values.map((value) => uint(8, value)), uint(20, ATTRIBUTE_INTS));

/** A constant list of whole numbers ≥ 0. */
export const numbers = (name: string, values: readonly number[]): Uint8Array =>
  message(5, uint(1, values.length), uint(2, INT64), ...values.map((value) => uint(7, value)), string(8, name));

const opset = (domain: string, version: number): Uint8Array => message(8, string(1, domain), uint(2, version));

function tensor(field: number, name: string, shape: Shape): Uint8Array {
  const dimensions = message(2, ...shape.map((size) => message(1, uint(1, size))));
  const type = message(2, message(1, uint(1, FLOAT), dimensions));
  return message(field, string(1, name), type);
}
