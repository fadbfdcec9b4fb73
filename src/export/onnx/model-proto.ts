// The file format of ONNX: nodes, tensors and types as protocol buffers. Numbers of fields are those of onnx.proto.
import type { DType, TypedArray } from "../../core/arrays.ts";
import { blobHead, concat, message, string, uint } from "../../core/protobuf.ts";
import type { Dim } from "../program.ts";

/** The opset of the operators, and the version of the file format that goes with it. */
const OPSET = 18;
const IR_VERSION = 8;
/** The most bytes that a protocol buffer may have. */
const MOST_BYTES = 2 ** 31 - 1;

export type OnnxType = DType | "int64";
const ELEMENT_TYPES: Readonly<Record<OnnxType, number>> = { float32: 1, int32: 6, int64: 7, bool: 9, uint32: 12 };
export const elementType = (dtype: OnnxType): number => ELEMENT_TYPES[dtype];

export interface OnnxNode {
  readonly op: string;
  readonly name: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Readonly<Record<string, number | readonly number[]>>;
}

export interface OnnxTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: OnnxType;
  readonly data: TypedArray | BigInt64Array;
}

export interface OnnxValue {
  readonly name: string;
  readonly shape: readonly Dim[];
  readonly dtype: OnnxType;
}

export interface OnnxGraph {
  readonly nodes: readonly OnnxNode[];
  readonly initializers: readonly OnnxTensor[];
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
}

/** The file in parts, with the weights where they lie. Undefined if it is too large for the format. */
export function encodeModel(graph: OnnxGraph): Uint8Array[] | undefined {
  const body = [
    ...graph.nodes.map(nodeProto),
    string(2, "hookline"),
    ...graph.initializers.flatMap(tensorProto),
    ...graph.inputs.map((value) => valueProto(11, value)),
    ...graph.outputs.map((value) => valueProto(12, value)),
  ];
  const length = body.reduce((sum, part) => sum + part.length, 0);
  if (length > MOST_BYTES) return undefined;
  const head = concat([uint(1, IR_VERSION), string(2, "hookline"), message(8, string(1, ""), uint(2, OPSET))]);
  return [head, blobHead(7, length), ...body];
}

function nodeProto({ op, name, inputs, outputs, attributes }: OnnxNode): Uint8Array {
  return message(
    1,
    ...inputs.map((input) => string(1, input)),
    ...outputs.map((output) => string(2, output)),
    string(3, name),
    string(4, op),
    ...Object.entries(attributes).map(([key, value]) => attributeProto(key, value)),
  );
}

const INT = 2;
const INTS = 7;

const attributeProto = (name: string, value: number | readonly number[]): Uint8Array =>
  typeof value === "number"
    ? message(5, string(1, name), uint(3, value), uint(20, INT))
    : message(5, string(1, name), ...value.map((each) => uint(8, each)), uint(20, INTS));

function tensorProto({ name, shape, dtype, data }: OnnxTensor): Uint8Array[] {
  const raw = dtype === "bool" ? Uint8Array.from(data as TypedArray, (value) => (value === 0 ? 0 : 1)) : data;
  const bytes = new Uint8Array(raw.buffer, raw.byteOffset, raw.byteLength);
  const head = concat([...shape.map((size) => uint(1, size)), uint(2, ELEMENT_TYPES[dtype]), string(8, name)]);
  const dataHead = blobHead(9, bytes.length);
  return [blobHead(5, head.length + dataHead.length + bytes.length), head, dataHead, bytes];
}

function valueProto(field: number, { name, shape, dtype }: OnnxValue): Uint8Array {
  const dims = shape.map((dim) => message(1, typeof dim === "number" ? uint(1, dim) : string(2, dim)));
  const tensor = message(1, uint(1, ELEMENT_TYPES[dtype]), message(2, ...dims));
  return message(field, string(1, name), message(2, tensor));
}
