// The shape of src/: who may import whom, and how large files and folders may grow.
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { cycles, folderOf, graph, importsOf, linesIn, sourceFiles } from "./import-graph.ts";

const files = sourceFiles();
const imports = files.flatMap(importsOf);

/** One line for each import inside a cycle, for whoever has to break it. */
function explain(found: readonly string[][], name: (file: string) => string): string {
  return found
    .flatMap((group) => [
      `cycle: ${group.join(" ↔ ")}`,
      ...imports
        .filter(({ from, to }) => name(from) !== name(to) && group.includes(name(from)) && group.includes(name(to)))
        .map(({ from, to, typeOnly }) => `  ${from} → ${to}${typeOnly ? " (types)" : ""}`),
    ])
    .join("\n");
}

describe("imports", () => {
  test("the graph is read whole", () => {
    expect(files).toContain("core/events.ts");
    expect(imports.some(({ from, to }) => from === "index.ts" && to === "trainer/trainer.ts")).toBe(true);
    expect(
      cycles(graph([...imports, { from: "core/a.ts", to: "cli/b.ts", typeOnly: true, lazy: false }], folderOf)),
    ).not.toEqual([]);
  });

  test("no folder cycles, types included", () => {
    expect(explain(cycles(graph(imports, folderOf)), folderOf)).toBe("");
  });

  test("no cycle of values between files", () => {
    const values = imports.filter(({ typeOnly, lazy }) => !typeOnly && !lazy);
    expect(explain(cycles(graph(values, (file) => file)), (file) => file)).toBe("");
  });
});

describe("size", () => {
  const lines = new Map(files.map((file) => [file, linesIn(file)]));

  // What version 0.1 did takes at most 480 files. What has come since may take some more.
  const since = [
    "data/table/",
    "data/preprocess/",
    "data/sampling/",
    "experiment/build/build-preprocess.ts",
    "experiment/prepared-data.ts",
    "distributed/shared-memory.ts",
    "trainer/base.ts",
    "trainer/initial.ts",
    "engines/native/plan/in-place.ts",
    "engines/native/plan/late-copies.ts",
    "engines/native/conv/",
    "engines/native/model.ts",
    "engines/native/onnxruntime.ts",
    "engines/native/threads/sharing.ts",
    "engines/lower/conv-phases.ts",
    "engines/lower/match.ts",
    "nn/mlp.ts",
    "nn/deferred-logits.ts",
    "nn/derivatives.ts",
    "nn/marks.ts",
    "nn/remat.ts",
    "nn/stack.ts",
    "trainer/layered/",
    "nn/metrics/",
    "nn/losses/",
    "trainer/metrics/",
    "export/",
    "cli/export.ts",
    "checkpoint/weights/choose-checkpoint.ts",
    "trainer/saving/model-description.ts",
    "predict/",
    "cli/serve/",
    "engines/xla/",
    "engines/lower/recomputation.ts",
    "engines/jax/gpu-device.ts",
    "engines/jax/node-gpu.ts",
    "xla/",
    "runs/control/",
    "hooks/control/",
    "hooks/logger/hook-notes.ts",
    "hooks/logger/watched.ts",
    "loggers/media-files.ts",
    "runs/tail.ts",
    "cli/ctl.ts",
    "engines/native/blas.ts",
    "ui/",
    "lm/",
    "cli/lm/",
    "net/served.ts",
    "trainer/open-params.ts",
    "tune/study-desk.ts",
    "cli/ui.ts",
    "cli/ui-beside.ts",
  ];

  test("at most 480 files for what version 0.1 did, the usual one of 90 to 140 lines", () => {
    const sorted = [...lines.values()].sort((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)]!;
    const first = files.filter((file) => !since.some((folder) => file.startsWith(folder)));
    expect(first.length).toBeLessThanOrEqual(480);
    expect(files.length).toBeLessThanOrEqual(860);
    expect(median, "median").toBeGreaterThanOrEqual(90);
    expect(median, "median").toBeLessThanOrEqual(140);
  });

  test("no file above 400 lines", () => {
    expect(files.filter((file) => lines.get(file)! > 400)).toEqual([]);
  });

  test("at most 25 files directly in a folder, but for catalogues of built-ins", () => {
    const catalogues = new Set(["hooks", "nn"]);
    const counts = new Map<string, number>();
    for (const file of files) {
      const folder = dirname(file);
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    expect([...counts].filter(([folder, count]) => count > 25 && !catalogues.has(folder))).toEqual([]);
  });
});
