// Compiled programs on disk: found by other engines and processes, replaced when damaged, limited in size.
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Tensor } from "../../../src/core/model.ts";
import type { Buffer as EngineBuffer } from "../../../src/engines/engine.ts";
import { cacheContents, cacheFolder, clearCache, limitCache } from "../../../src/engines/xla/cache/cache-folder.ts";
import { XlaEngine, type XlaOptions } from "../../../src/engines/xla/xla-engine.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { compileTestPlugin, jaxlibBackend, type TestPlugin } from "./test-plugin.ts";

const plugin = compileTestPlugin();
const backend = plugin && jaxlibBackend();
afterAll(() => plugin?.remove());

describe("the folder", () => {
  it("is HOOKLINE_CACHE, else XDG's", () => {
    expect(cacheFolder({ HOOKLINE_CACHE: "/a", XDG_CACHE_HOME: "/b" })).toBe("/a/xla");
    expect(cacheFolder({ XDG_CACHE_HOME: "/b" })).toBe("/b/hookline/xla");
    expect(cacheFolder({})).toMatch(/\.cache\/hookline\/xla$/);
  });

  const entry = (folder: string, digit: string, bytes: number, age: number): string => {
    const file = join(folder, `${digit.repeat(64)}.program`);
    writeFileSync(file, new Uint8Array(bytes));
    const at = Date.now() / 1000 - age;
    utimesSync(file, at, at);
    return `${digit.repeat(64)}.program`;
  };

  it("loses what was unused for longest, and what killed processes left; files of others stay", async () => {
    const folder = tempDir();
    const [old, middle, young] = [
      entry(folder, "a", 40, 300),
      entry(folder, "b", 40, 200),
      entry(folder, "c", 40, 100),
    ];
    writeFileSync(join(folder, "notes.txt"), "mine");
    const abandoned = join(folder, `${old}.1.tmp`);
    writeFileSync(abandoned, "half");
    writeFileSync(join(folder, `${old}.2.tmp`), "being written");
    utimesSync(abandoned, 1, 1);
    await limitCache(folder, 120);
    expect(readdirSync(folder).sort()).toEqual([old, `${old}.2.tmp`, middle, young, "notes.txt"]);
    await limitCache(folder, 100);
    expect(readdirSync(folder).sort()).toEqual([`${old}.2.tmp`, middle, young, "notes.txt"]);
    expect(await cacheContents(folder)).toEqual({ programs: 2, bytes: 80 });
    expect(await clearCache(folder)).toEqual({ programs: 2, bytes: 80 });
    expect(readdirSync(folder)).toEqual(["notes.txt"]);
    expect(await clearCache(join(folder, "none"))).toEqual({ programs: 0, bytes: 0 });
  });
});

describe.skipIf(!plugin)("on the test plugin (needs a C compiler and koffi)", () => {
  const { calls, fail, live, path } = plugin ?? ({} as TestPlugin);
  let root: string;
  let warnings: string[];
  beforeEach(() => {
    root = tempDir();
    warnings = [];
    process.env.HOOKLINE_CACHE = root;
    process.env.HOOKLINE_PJRT_PLUGIN = path;
  });
  afterEach(() => {
    delete process.env.HOOKLINE_CACHE;
    delete process.env.HOOKLINE_PJRT_PLUGIN;
    if (live("program") > 0) throw new Error("a program was left over");
  });
  const entries = (): string[] => readdirSync(join(root, "xla")).map((name) => join(root, "xla", name));

  /** Computes 2 × [1, 2] on an engine of its own. `did`: which of the two functions made the program. */
  async function doubled(options: XlaOptions = {}, factor = 2): Promise<{ did: string; values: number[] }> {
    const before = [calls("Client_Compile"), calls("Executable_DeserializeAndLoad")];
    const engine = new XlaEngine({ warn: (message) => warnings.push(message), ...options });
    const program = engine.jit(((x: Tensor) => x.mul(factor)) as never) as unknown as (
      x: EngineBuffer,
    ) => Promise<EngineBuffer>;
    const made = await program(engine.put({ data: Float32Array.of(1, 2), shape: [2] }));
    const values = [...engine.read(made)].map(Number);
    await engine.close();
    const compiled = calls("Client_Compile") - before[0]!;
    const loaded = calls("Executable_DeserializeAndLoad") - before[1]!;
    return { did: `compiled ${compiled}, loaded ${loaded}`, values };
  }

  it("keeps a program for the next engine, by program, options and flags of XLA", async () => {
    expect((await doubled()).did).toBe("compiled 1, loaded 0");
    expect((await doubled()).did).toBe("compiled 0, loaded 1");
    expect((await doubled({ cache: false })).did).toBe("compiled 1, loaded 0");
    expect((await doubled({}, 3)).did).toBe("compiled 1, loaded 0");
    process.env.XLA_FLAGS = "--xla_cpu_enable_fast_math=false";
    expect((await doubled()).did).toBe("compiled 1, loaded 0");
    delete process.env.XLA_FLAGS;
    expect(entries()).toHaveLength(3);
    expect(statSync(join(root, "xla")).mode & 0o777).toBe(0o700);
    expect(warnings).toEqual([]);
  });

  it("compiles again what is damaged, and replaces it, with one warning", async () => {
    await doubled();
    const [file] = entries() as [string];
    const whole = readFileSync(file);
    const flipped = Uint8Array.from(whole);
    flipped[whole.length - 1]! ^= 1;
    const damages = [new Uint8Array(0), Uint8Array.of(1, 2, 3), whole.subarray(0, whole.length - 1), flipped];
    for (const damage of damages) {
      warnings = [];
      writeFileSync(file, damage);
      expect((await doubled()).did).toBe("compiled 1, loaded 0");
      expect(warnings).toEqual([
        `Engine "xla": the compiled program ${file} is damaged. It is compiled again and replaced.`,
      ]);
      expect((await doubled()).did).toBe("compiled 0, loaded 1");
    }
    // Whole, but another program's.
    await doubled({}, 3);
    const other = entries().find((name) => name !== file)!;
    writeFileSync(other, readFileSync(file));
    expect((await doubled({}, 3)).did).toBe("compiled 1, loaded 0");
  });

  it("compiles again what the plugin refuses", async () => {
    await doubled();
    fail("Executable_DeserializeAndLoad", 9, "from another version");
    expect((await doubled()).did).toBe("compiled 1, loaded 1");
    expect(warnings[0]).toContain(
      'was refused by the plugin (Engine "xla": from another version (PJRT_Executable_DeserializeAndLoad, code 9)). It is compiled again',
    );
    expect((await doubled()).did).toBe("compiled 0, loaded 1");
  });

  it("does without where the plugin cannot serialize, or nothing can be written", async () => {
    fail("Executable_Serialize", 12, "not implemented");
    expect((await doubled()).did).toBe("compiled 1, loaded 0");
    expect(warnings).toEqual([]);
    writeFileSync(join(root, "file"), "");
    process.env.HOOKLINE_CACHE = join(root, "file");
    expect((await doubled()).did).toBe("compiled 1, loaded 0");
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("each process compiles its own. Name another folder in HOOKLINE_CACHE.");
  });

  it("serves several at once", async () => {
    await Promise.all(Array.from({ length: 8 }, (_, i) => doubled({}, 2 + (i % 2))));
    expect(entries()).toHaveLength(2);
    expect((await doubled()).did).toBe("compiled 0, loaded 1");
    expect(warnings).toEqual([]);
  });

  it("waits for a program that is being compiled when it is closed", async () => {
    const engine = new XlaEngine();
    const program = engine.jit(((x: Tensor) => x.mul(2)) as never) as unknown as (x: EngineBuffer) => Promise<unknown>;
    const made = program(engine.put({ data: Float32Array.of(1, 2), shape: [2] }));
    const failed = made.catch((error: Error) => error.message);
    await engine.close();
    expect(await failed).toContain("it was closed while a program was compiled");
    expect(live("client")).toBe(0);
  });

  it.skipIf(!backend)("computes the same with XLA's own program from the disk (needs jaxlib in python3)", async () => {
    process.env.HOOKLINE_TEST_PJRT_BACKEND = backend;
    try {
      expect(await doubled({}, 5)).toEqual({ did: "compiled 1, loaded 0", values: [5, 10] });
      expect(await doubled({}, 5)).toEqual({ did: "compiled 0, loaded 1", values: [5, 10] });
    } finally {
      delete process.env.HOOKLINE_TEST_PJRT_BACKEND;
    }
  });
});
