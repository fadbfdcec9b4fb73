// PyTorch's names for element types, as they stand in pickles.
import type { FileDType } from "./tensor.ts";

/** Storage classes of module `torch`; types without one have an untyped storage and their own dtype. */
export const STORAGES: Readonly<Record<string, FileDType>> = {
  FloatStorage: "F32",
  DoubleStorage: "F64",
  HalfStorage: "F16",
  BFloat16Storage: "BF16",
  LongStorage: "I64",
  IntStorage: "I32",
  ShortStorage: "I16",
  CharStorage: "I8",
  ByteStorage: "U8",
  BoolStorage: "BOOL",
  ComplexFloatStorage: "C64",
};

/** `torch.dtype`s by name. */
export const TORCH_DTYPES: Readonly<Record<string, FileDType>> = {
  float32: "F32",
  float64: "F64",
  float16: "F16",
  bfloat16: "BF16",
  int64: "I64",
  int32: "I32",
  int16: "I16",
  int8: "I8",
  uint8: "U8",
  uint16: "U16",
  uint32: "U32",
  uint64: "U64",
  bool: "BOOL",
  complex64: "C64",
  float8_e4m3fn: "F8_E4M3",
  float8_e5m2: "F8_E5M2",
  float8_e4m3fnuz: "F8_E4M3FNUZ",
  float8_e5m2fnuz: "F8_E5M2FNUZ",
  float8_e8m0fnu: "F8_E8M0",
};

/** The name of a type in one of the tables above. */
export const nameOf = (table: Readonly<Record<string, FileDType>>, dtype: FileDType): string | undefined =>
  Object.keys(table).find((name) => table[name] === dtype);
