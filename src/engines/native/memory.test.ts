// Memory that is handed out never overlaps, comes back whole, and keeps its numbers when there is more of it.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EngineError } from "../../core/errors.ts";
import { EngineMemory, memoryWanted } from "./memory.ts";

const NODE = Number(process.versions.node.split(".")[0]);

it("blocks never overlap, whatever is allocated and freed", () => {
  const moves = fc.array(
    fc.oneof(fc.record({ bytes: fc.integer({ min: 0, max: 200_000 }) }), fc.record({ free: fc.nat() })),
    { maxLength: 120 },
  );
  fc.assert(
    fc.property(moves, (list) => {
      const memory = new EngineMemory();
      const held: { at: number; bytes: number; mark: number }[] = [];
      for (const [mark, move] of list.entries()) {
        if ("bytes" in move) {
          const at = memory.allocate(move.bytes);
          expect(at % 64).toBe(0);
          expect(at).toBeGreaterThan(0);
          for (const other of held) expect(at + move.bytes <= other.at || other.at + other.bytes <= at).toBe(true);
          memory.bytes(at, move.bytes).fill(mark);
          held.push({ at, bytes: move.bytes, mark });
        } else if (held.length > 0) {
          const [block] = held.splice(move.free % held.length, 1);
          memory.free(block!.at);
        }
      }
      // Also after it has grown.
      for (const { at, bytes, mark } of held)
        expect(memory.bytes(at, bytes).every((byte) => byte === mark % 256)).toBe(true);
      for (const { at } of held) memory.free(at);
      expect(memory.bytesInUse).toBe(0);
    }),
    { numRuns: 40 },
  );
});

describe("what is freed", () => {
  it("is one block with its neighbours again", () => {
    const memory = new EngineMemory();
    const blocks = Array.from({ length: 5 }, () => memory.allocate(1000));
    const guard = memory.allocate(64);
    for (const i of [1, 3, 0, 4, 2]) memory.free(blocks[i]!);
    expect(memory.allocate(5 * 1000)).toBe(blocks[0]);
    memory.free(guard);
  });

  it("is used again before memory grows", () => {
    const memory = new EngineMemory();
    const size = () => memory.memory.buffer.byteLength;
    for (let i = 0; i < 200; i++) memory.free(memory.allocate(1 << 22));
    expect(size()).toBeLessThanOrEqual(16 * 2 ** 20);
  });

  it("cannot be freed twice", () => {
    const memory = new EngineMemory();
    const at = memory.allocate(10);
    memory.free(at);
    expect(() => memory.free(at)).toThrow(EngineError);
  });
});

it.skipIf(NODE >= 24)("says which Node has more than 4 GiB", () => {
  expect(() => new EngineMemory(undefined, 16)).toThrow(/no memory of more than 4 GiB. Use Node 24 or later/);
});

it.skipIf(NODE < 24)("has more than 4 GiB where Node has", () => {
  const memory = new EngineMemory(undefined, 16);
  memory.allocate(2 ** 33);
  const at = memory.allocate(1000);
  expect(at).toBeGreaterThan(2 ** 33);
  memory.bytes(at, 3).set([1, 2, 3]);
  expect(memory.bytes(at + 1, 2).join()).toBe("2,3");
  expect(() => memory.allocate(2 ** 33)).toThrow(/can have 16 GiB/);
});

it("takes its size from an option or the environment", () => {
  expect(memoryWanted(16)).toBe(16);
  expect(() => memoryWanted(8)).toThrow("NativeEngine: `memory`: Expected 4 or 16 (GiB), got ");
  try {
    process.env.HOOKLINE_MEMORY = "16";
    expect([memoryWanted(undefined), memoryWanted(4)]).toEqual([16, 4]);
    process.env.HOOKLINE_MEMORY = "lots";
    expect(() => memoryWanted(undefined)).toThrow("HOOKLINE_MEMORY: Expected 4 or 16 (GiB), got");
  } finally {
    delete process.env.HOOKLINE_MEMORY;
  }
});

it("says when there is no more, and goes on with what there is", () => {
  const memory = new EngineMemory(undefined, 4);
  const small = memory.allocate(100);
  memory.free(memory.allocate(1 << 20));
  expect(() => memory.allocate(2 ** 33)).toThrow(/out of memory.*smaller batch/);
  expect(memory.allocate(1 << 20)).toBeGreaterThan(small);
});
