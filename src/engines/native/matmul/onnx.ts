// The ONNX model of one matrix product: a single node, with everything else left out that a model may have.
import { concat, message, string, uint } from "../../../core/protobuf.ts";
import type { Contraction } from "../contraction.ts";

const FLOAT = 1;
const ATTRIBUTE_INT = 2;

/** Names of the inputs and the output. */
export const LEFT = "l";
export const RIGHT = "r";
export const OUT = "o";

export function shapesOf(c: Contraction): { left: number[]; right: number[]; out: number[] } {
  const batch = c.batch === 1 ? [] : [c.batch];
  return {
    left: [...batch, ...(c.leftTransposed ? [c.inner, c.rows] : [c.rows, c.inner])],
    right: [...batch, ...(c.rightTransposed ? [c.columns, c.inner] : [c.inner, c.columns])],
    out: [...batch, c.rows, c.columns],
  };
}

export function productModel(c: Contraction): Uint8Array {
  const { left, right, out } = shapesOf(c);
  const node = message(
    1,
    string(1, LEFT),
    string(1, RIGHT),
    string(2, OUT),
    string(4, "FusedMatMul"),
    attribute("transA", Number(c.leftTransposed)),
    attribute("transB", Number(c.rightTransposed)),
    string(7, "com.microsoft"),
  );
  const graph = message(
    7,
    node,
    string(2, "product"),
    tensor(11, LEFT, left),
    tensor(11, RIGHT, right),
    tensor(12, OUT, out),
  );
  // irVersion, the graph, and the sets of operators that it uses.
  return concat([uint(1, 9), graph, opset("", 18), opset("com.microsoft", 1)]);
}

const attribute = (name: string, value: number): Uint8Array =>
  message(5, string(1, name), uint(3, value), uint(20, ATTRIBUTE_INT));

const opset = (domain: string, version: number): Uint8Array => message(8, string(1, domain), uint(2, version));

function tensor(field: number, name: string, shape: readonly number[]): Uint8Array {
  const dimensions = message(2, ...shape.map((size) => message(1, uint(1, size))));
  const type = message(2, message(1, uint(1, FLOAT), dimensions));
  return message(field, string(1, name), type);
}
