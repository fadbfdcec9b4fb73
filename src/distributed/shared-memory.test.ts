// What ranks do where they cannot share memory, without the ranks.
import { execFileSync } from "node:child_process";
import { openSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { type KoffiLibrary, koffiOrNone } from "../platform/koffi.ts";
import { shareMemory } from "./shared-memory.ts";
import { single, type Strategy } from "./strategy.ts";

const koffi = koffiOrNone()!;

/** What rank 0 says, with room for so many numbers; `load` is how it gets the C library. */
async function offered(capacity: number, load = koffi.load.bind(koffi)) {
  const messages: string[] = [];
  const broadcast = (bytes: Uint8Array): void =>
    void messages.push(new TextDecoder().decode(bytes).replaceAll("\0", ""));
  const memory = await shareMemory({ ...single, broadcast }, { ...koffi, load }, capacity);
  return { memory, messages };
}

test("more bytes than an array buffer has are not asked for", async () => {
  const load = vi.fn((): never => {
    throw new Error("none");
  });
  // Two lines of 64 bytes, and two vectors.
  const most = 2 ** 29 - 16;
  expect(await offered(most + 16, load)).toEqual({ memory: undefined, messages: [""] });
  expect(load).not.toHaveBeenCalled();
  expect(await offered(most, load)).toEqual({ memory: undefined, messages: [""] });
  expect(load).toHaveBeenCalledOnce();
});

describe.skipIf(process.platform !== "linux")("on Linux", () => {
  interface Offer {
    readonly machine: string;
    readonly path: string;
  }
  const capacity = 100;

  /** What another rank gets from rank 0's offer, while it is there, after a change. */
  async function taken(change: (offer: Offer) => Partial<Offer>): Promise<boolean> {
    let memory: unknown;
    const broadcast = async (message: Uint8Array): Promise<void> => {
      const offer = JSON.parse(new TextDecoder().decode(message).replaceAll("\0", "")) as Offer;
      const changed = { ...offer, ...change(offer) };
      const second: Strategy = {
        ...single,
        rank: 1,
        broadcast: (bytes) => void new TextEncoder().encodeInto(JSON.stringify(changed), bytes),
      };
      memory = await shareMemory(second, koffi, capacity);
    };
    await shareMemory({ ...single, broadcast }, koffi, capacity);
    return memory !== undefined;
  }

  const openFiles = (): string[] =>
    readdirSync("/proc/self/fd").flatMap((file) => {
      try {
        return [readlinkSync(`/proc/self/fd/${file}`)];
      } catch {
        return [];
      }
    });

  test("memory of the same machine is taken, and of no other", async () => {
    expect(await taken(() => ({}))).toBe(true);
    expect(await taken(({ machine }) => ({ machine: `${machine}1` }))).toBe(false);
  });

  test("what is something else is closed", async () => {
    const path = join(tempDir(), "pipe");
    execFileSync("mkfifo", [path]);
    expect(await taken(() => ({ path }))).toBe(false);
    expect(openFiles()).not.toContain(path);
  });

  test("rank 0 answers, and closes the file, when it cannot write the mark", async () => {
    const path = join(tempDir(), "read-only");
    writeFileSync(path, "");
    const calls: Record<string, () => number> = { memfd_create: () => openSync(path, "r"), posix_fallocate: () => 0 };
    const library = { ...koffi.load(null), func: (name: string) => calls[name] } as unknown as KoffiLibrary;
    expect(await offered(capacity, () => library)).toEqual({ memory: undefined, messages: [""] });
    expect(openFiles()).not.toContain(path);
  });
});
