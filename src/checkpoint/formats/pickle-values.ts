// What stands on the stack while a pickle is read: data only, nothing that could act.
import type { FileDType, FileTensor } from "./tensor.ts";

/** A Python tuple; lists are arrays. */
export class Tuple {
  readonly items: readonly PickleValue[];
  constructor(items: readonly PickleValue[]) {
    this.items = items;
  }
}

/** A name that the pickle asked for and that is on the list of allowed ones. */
export class Global {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** The bytes of one or more tensors; without a type when the tensors bring their own. */
export class Storage {
  readonly dtype: FileDType | undefined;
  readonly bytes: Uint8Array;
  constructor(dtype: FileDType | undefined, bytes: Uint8Array) {
    this.dtype = dtype;
    this.bytes = bytes;
  }
}

export class PickleTensor {
  readonly tensor: FileTensor;
  constructor(tensor: FileTensor) {
    this.tensor = tensor;
  }
}

export type DictKey = string | number | bigint;
export type Dict = Map<DictKey, PickleValue>;

export type PickleValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | PickleValue[]
  | Tuple
  | Dict
  | Global
  | Storage
  | PickleTensor;

/** What a value is, for messages. */
export function kindOf(value: PickleValue | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "None";
  if (Array.isArray(value)) return "a list";
  if (value instanceof Map) return "a dict";
  if (value instanceof Tuple) return "a tuple";
  if (value instanceof Global) return value.name.replace(" ", ".");
  if (value instanceof Storage) return "a storage";
  if (value instanceof PickleTensor) return "a tensor";
  return value instanceof Uint8Array ? "bytes" : `a ${typeof value}`;
}
