// Buffers of engines whose programs never write into what they are given: several may stand for the same memory.
import { dtypeOf, sizeOf, type HostArray } from "../core/arrays.ts";
import { EngineError } from "../core/errors.ts";
import type { Buffer } from "./engine.ts";
import type { DType } from "./lower/graph.ts";

/** Memory that several buffers may stand for; an engine adds where it is. */
export interface Block {
  users: number;
}

export class SharedBuffer<B extends Block> implements Buffer {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly block: B;
  freed = false;

  constructor(shape: readonly number[], dtype: DType, block: B) {
    this.shape = shape;
    this.dtype = dtype;
    this.block = block;
    block.users++;
  }
}

/** An engine's own buffer; an error if it was freed. */
export function aliveIn<B extends Block>(engine: string, buffer: Buffer): SharedBuffer<B> {
  const own = buffer as SharedBuffer<B>;
  if (own.freed) throw new EngineError(`Engine "${engine}": a buffer was used after it was freed.`);
  return own;
}

/** The type of an array that is to be put on an engine; an error if its numbers do not fill its shape. */
export function checkedDtype(engine: string, { data, shape, dtype }: HostArray): DType {
  if (data.length !== sizeOf(shape)) {
    throw new EngineError(
      `Engine "${engine}": ${data.length} numbers do not fill an array of shape [${shape.join(", ")}].`,
    );
  }
  return dtypeOf({ data, ...(dtype && { dtype }) });
}
