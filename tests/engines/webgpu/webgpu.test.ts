// engine: "webgpu" in Node, on SwiftShader: a training from its first step to its predictions, and what may fail. All layers,
// traces and resumes on it are in `npm run test:webgpu`.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { Check } from "../../../src/cli/doctor.ts";
import { compiled } from "../../support/programs.ts";
import { softwareGpu } from "../../support/software-gpu.ts";
import { root } from "../../support/sources.ts";

const hasPackage = existsSync(join(root, "node_modules/webgpu"));
if (!hasPackage) console.warn("WebGPU in Node is skipped: npm ci installs the package webgpu");
if (!softwareGpu) console.warn("WebGPU in Node is skipped: apt-get install chromium, which brings SwiftShader");

interface Trained {
  readonly averages: readonly number[];
  readonly loss: readonly [gpu: number, wasm: number];
  readonly evaluated: readonly [gpu: Metrics, wasm: Metrics];
  readonly predictions: readonly [gpu: readonly number[], wasm: readonly number[]];
}
type Metrics = Readonly<Record<string, number>>;

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
}

/** A process that ends by itself, and well. */
const run = (args: readonly string[], gpu: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  promisify(execFile)(process.execPath, args, { cwd: root, env: { ...process.env, ...gpu } });

const close = (values: readonly number[]): unknown[] => values.map((value) => expect.closeTo(value, 4));

/** What the program reported; Dawn prints there, too. */
function reports(stdout: string): Record<string, unknown> {
  const lines = stdout.split("\n").filter((line) => line.startsWith("["));
  return Object.fromEntries(lines.map((line) => JSON.parse(line) as [string, unknown]));
}

describe.runIf(softwareGpu && hasPackage)("with an adapter", () => {
  test("trains, looks inside, saves, resumes to the same bits, evaluates and predicts", async () => {
    const { stdout, stderr } = await run([compiled(new URL("./train-child.ts", import.meta.url))], softwareGpu);
    const found = JSON.parse(stdout) as Trained;
    expect(stderr).toBe("");
    expect(found).toMatchObject({ engine: "webgpu", resumedFrom: 5, sameBits: true, looks: 12 });
    expect(found.averages).toHaveLength(3);
    expect(found.averages[2]).toBe(found.loss[0]);
    expect(found.loss[0]).toBeCloseTo(found.loss[1], 4);
    const [onGpu, onWasm] = found.evaluated;
    expect(onGpu).toEqual({ "test/accuracy": 1, "test/loss": expect.closeTo(onWasm["test/loss"]!, 4) });
    expect(found.predictions[0]).toEqual(close(found.predictions[1]));
  });

  test("what fails on the GPU is an error, and never a number", async () => {
    const { stdout } = await run([compiled(new URL("./faults-child.ts", import.meta.url))], softwareGpu);
    const found = reports(stdout);
    expect(found["too large"]).toMatch(
      /^EngineError: Engine "webgpu": the GPU \(swiftshader.*\) could not compute this: .*buffer.* a smaller batch may help/is,
    );
    expect(found.afterwards).toEqual([2, 4]);
    const lost =
      /Engine "webgpu": the GPU \(swiftshader.*\) was lost: .*\. Its memory is gone.* resume from the last checkpoint\.$/;
    expect(found.lost).toMatch(lost);
    expect(found["read after it"]).toMatch(lost);
  });

  test("hookline doctor names the GPU", async () => {
    const { stdout } = await run(["--import", "tsx", "src/cli/main.ts", "doctor", "--json"], softwareGpu);
    const { checks } = JSON.parse(stdout) as { readonly checks: readonly Check[] };
    const found = checks.find(({ name }) => name === "engine webgpu");
    expect(found).toMatchObject({ status: "ok", found: expect.stringMatching(/^works, on swiftshader/) });
  });
});

test.runIf(hasPackage)("without an adapter, an error says what is missing", async () => {
  const none = { VK_ICD_FILENAMES: "/nowhere.json", VK_DRIVER_FILES: "/nowhere.json" };
  const { stdout } = await run([compiled(new URL("./faults-child.ts", import.meta.url))], none);
  expect(reports(stdout).engine).toMatch(
    /^EngineError: Engine "webgpu": no GPU was found: .*libvulkan1.* Or use engine: "native" or "wasm"\.$/,
  );
});
