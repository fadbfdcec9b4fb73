// Whole runs cross between PyTorch and here: each goes on from the other's checkpoint as if it were its own.
// Other versions of PyTorch: see the top of checkpoints-torch.py.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { modelCheckpoint } from "hookline";
import { CheckpointError, decodeTorchCheckpoint, memoryStore, readWeights } from "hookline/checkpoint";
import * as nn from "hookline/nn";
import { adamw, sgd } from "hookline/optim";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { maxError } from "../support/gradcheck.ts";
import {
  answersOf,
  numbersOf,
  optimizers,
  runs,
  STEPS,
  trainerFor,
  writeOurs,
  type Which,
} from "./checkpoints-runs.ts";
import { models } from "./formats-models.ts";

const python = "/usr/bin/python3";
const env = { ...process.env, OMP_NUM_THREADS: "1" };
/** A folder in which another machine's PyTorch has done its part. */
const done = process.env.HOOKLINE_CHECKPOINTS;
const present = done !== undefined || spawnSync(python, ["-c", "import torch"], { env }).status === 0;
if (!present) console.warn("runs that go on from PyTorch are skipped: apt-get install python3-torch");

interface Answer {
  readonly outputs: number[];
  /** After as many steps again, with the optimizer's state. */
  readonly final: Record<string, number[]>;
  /** The same with a new optimizer. */
  readonly anew: Record<string, number[]>;
}

/** The largest difference of each tensor, relative to its largest number. */
function apart(ours: Record<string, number[]>, torch: Record<string, number[]>): number {
  expect(Object.keys(ours).toSorted()).toEqual(Object.keys(torch).toSorted());
  const off = Object.entries(torch).map(([name, values]) => {
    const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    return maxError(ours[name]!, values) / largest;
  });
  return Math.max(...off);
}

describe.skipIf(!present)("runs from and for PyTorch", () => {
  let folder = "";
  let output = "";
  let answers: Record<string, Answer>;
  const theirs = (name: string): string => join(folder, "theirs", name);

  beforeAll(async () => {
    folder = done ?? mkdtempSync(join(tmpdir(), "checkpoints-"));
    if (done === undefined) {
      await writeOurs(folder);
      const script = fileURLToPath(new URL("./checkpoints-torch.py", import.meta.url));
      const run = spawnSync(python, ["-W", "ignore", script, folder], { env, encoding: "utf8" });
      if (run.status !== 0) throw new Error(run.stdout + run.stderr);
      output = run.stdout;
    }
    answers = JSON.parse(readFileSync(theirs("answers.json"), "utf8")) as Record<string, Answer>;
  });
  afterAll(() => {
    if (done === undefined) rmSync(folder, { recursive: true, force: true });
  });

  /** Goes on from a file of PyTorch's, for as many steps as it did. */
  async function goOn(which: Which, file: string) {
    await using trainer = trainerFor(which, {}, "after");
    const { resumed, steps } = await trainer.fit({ resume: theirs(file), steps: STEPS });
    expect(steps).toBe(STEPS);
    return { report: resumed!, final: numbersOf(await trainer.stateDict()) };
  }

  it.skipIf(done !== undefined)("PyTorch loads ours, says the same, and trains on as we do", () => {
    const checks = output.split("\n").filter((line) => line.startsWith("ok: "));
    expect(checks.length, output).toBeGreaterThanOrEqual(2 * runs.length + 6);
    expect(output).toMatch(/all good\n$/);
  });

  const pairs = Object.keys(models).flatMap((model) =>
    Object.keys(optimizers).map((optimizer) => ({ model, optimizer })),
  );

  describe.each(pairs)("$model with $optimizer", (which) => {
    const name = `${which.model}-${which.optimizer}`;

    it.each([
      ["a full checkpoint", "pt"],
      ["one of Lightning's shape, its prefix taken off", "ckpt"],
    ])("goes on from %s", async (_name, ending) => {
      const { report, final } = await goOn(which, `${name}.${ending}`);
      expect(report).toMatchObject({
        from: theirs(`${name}.${ending}`),
        why: "resume",
        step: 0,
        restored: ["model", "optimizer"],
        missing: ["counters", "data position"],
        orphaned: [],
      });
      expect(apart(final, answers[name]!.final)).toBeLessThan(1e-5);
      // Or else the optimizer's state would not matter.
      expect(apart(answers[name]!.anew, answers[name]!.final)).toBeGreaterThan(1e-3);
    });

    it("goes on from bare weights with a new optimizer, and says so", async () => {
      const { report, final } = await goOn(which, `${name}.pth`);
      expect(report.restored).toEqual(["model"]);
      expect(report.missing).toContain("counters");
      const slots = report.missing.filter((what) => what.startsWith("optimizer "));
      const [first] = Object.keys(models[which.model]!.model.init(nn.initKey(0)));
      expect(slots).toContain(`optimizer ${which.optimizer === "sgd" ? "momentum_buffer" : "exp_avg"}/${first}`);
      expect(apart(final, answers[name]!.anew)).toBeLessThan(1e-5);
    });

    it("weights loaded by hand give the same outputs", async () => {
      await using trainer = trainerFor(which);
      const loaded = await trainer.loadStateDict(await readWeights(theirs(`${name}.ckpt`)), { prefix: "model." });
      expect(loaded).toEqual({ missing: [], unexpected: [] });
      expect(maxError(await answersOf(trainer, which.model), answers[name]!.outputs)).toBeLessThan(1e-5);
    });
  });

  const mlp = { model: "mlp", optimizer: "adamw" };

  it("a checkpoint that Lightning itself has saved", async ({ skip }) => {
    if (!existsSync(theirs("lightning.ckpt"))) skip("written only where Lightning is installed");
    const { report, final } = await goOn(mlp, "lightning.ckpt");
    expect(report.restored).toEqual(["model", "optimizer"]);
    expect(apart(final, answers["mlp-adamw"]!.final)).toBeLessThan(1e-5);
  });

  it("strict: false loads what fits and tells the rest", async () => {
    await using trainer = trainerFor(mlp);
    const weights = await readWeights(theirs("around.ckpt"));
    await expect(trainer.loadStateDict(weights, { prefix: "model." })).rejects.toThrow(
      'tensor "criterion.weight" does not begin with the prefix "model."',
    );
    const { "model.0.bias": _, ...others } = weights;
    const before = await trainer.stateDict();
    const loaded = await trainer.loadStateDict(others, { prefix: "model.", strict: false });
    expect(loaded).toEqual({ missing: ["0.bias"], unexpected: [] });
    const after = await trainer.stateDict();
    expect(after["0.bias"]).toEqual(before["0.bias"]);
    expect(after["0.weight"]).toEqual(weights["model.0.weight"]);
    expect(await trainer.loadStateDict(weights, { strict: false })).toMatchObject({
      missing: expect.arrayContaining(["0.weight"]) as string[],
      unexpected: expect.arrayContaining(["model.0.weight", "criterion.weight"]) as string[],
    });
  });

  it("another optimizer begins anew: as if there had been the weights alone", async () => {
    const { report, final } = await goOn({ model: "mlp", optimizer: "adamw" }, "mlp-sgd.pt");
    expect(report.restored).toEqual(["model"]);
    expect(report.missing).toContain("optimizer exp_avg/0.weight");
    expect(report.orphaned).toContain("optimizer momentum_buffer/0.weight");
    expect(final).toEqual((await goOn({ model: "mlp", optimizer: "adamw" }, "mlp-sgd.pth")).final);
  });

  it("a second fit that goes back to bare weights forgets the updates before", async () => {
    await using trainer = trainerFor(mlp, {}, "after");
    await trainer.fit({ steps: 2 * STEPS });
    await trainer.fit({ resume: theirs("mlp-adamw.pth"), steps: 3 * STEPS });
    expect(apart(numbersOf(await trainer.stateDict()), answers["mlp-adamw"]!.anew)).toBeLessThan(1e-5);
  });

  describe("what cannot be gone on with", () => {
    const wide = nn.sequential(nn.linear(6, 32), nn.tanh(), nn.linear(32, 16), nn.gelu(), nn.linear(16, 2));
    const deep = nn.sequential(...[6, 16, 16].flatMap((size) => [nn.linear(size, 16), nn.tanh()]), nn.linear(16, 2));
    const byHand = "trainer.loadStateDict(await readWeights(path), { ";
    const plainData = "Nothing in a file is ever run here. In Python, save";
    const cases: [string, string, object, string, string][] = [
      [
        "other sizes",
        "mlp-adamw.pt",
        { model: wide },
        'tensor "0.weight" has shape [16, 6], and the model wants [32, 6]',
        "build the model with the same sizes",
      ],
      [
        "another architecture",
        "mlp-adamw.pt",
        { model: deep },
        'lacks "6.weight", "6.bias"',
        `or start from the weights that fit: ${byHand}strict: false })`,
      ],
      [
        "quite another architecture",
        "transformer-sgd.pt",
        {},
        'lacks "0.weight", "0.bias", "2.weight", "2.bias", "4.weight" and 1 more and has "tok.weight"',
        "Build the model as it was there",
      ],
      [
        "a part of another model",
        "around.ckpt",
        {},
        'has "model.0.weight", "model.0.bias", "model.2.weight", "model.2.bias", "model.4.weight" and 2 more, which',
        `${byHand}prefix: "model.", strict: false })`,
      ],
      [
        "other groups",
        "groups.pt",
        {},
        'its optimizer "optimizer" has 2 parameter groups, and 1 are expected',
        "Make the optimizer with the same parameters and groups as in PyTorch, or load the weights alone",
      ],
      [
        "two optimizers",
        "mlp-adamw.pt",
        { optimizer: { a: sgd({ params: "0." }), b: adamw({ params: ["2.", "4."] }) } },
        "it has the state of 1 optimizers, and 2 are expected (a, b)",
        "or load the weights alone",
      ],
      [
        "another order of parameters",
        "order.pt",
        {},
        'has shape [2], and parameter "0.weight" has [16, 6]',
        "PyTorch numbers parameters in the order of model.parameters()",
      ],
      ["another rule", "amsgrad.pt", {}, "made with amsgrad=True, which there is not here", "Load the weights alone"],
      ["code", "code.pt", {}, 'its pickle asks for the Python object "posix.system"', plainData],
      [
        "a whole module",
        "module.pt",
        {},
        'its pickle asks for the Python object "torch.nn.modules.container.Sequential"',
        plainData,
      ],
    ];

    it.each(cases)("%s", async (_name, file, options, reason, wayOut) => {
      await using trainer = trainerFor(mlp, options);
      const before = await trainer.stateDict();
      const error = await trainer.fit({ resume: theirs(file), steps: 1 }).then(
        () => undefined,
        (thrown: unknown) => thrown as CheckpointError,
      );
      expect(error).toBeInstanceOf(CheckpointError);
      const { message } = error!;
      expect(message.startsWith(`${theirs(file)}: `), message).toBe(true);
      expect(error!.reason).toContain(reason);
      expect(message).toContain(wayOut);
      expect(await trainer.stateDict(), "the model is as it was").toEqual(before);
      expect(existsSync(join(folder, "executed"))).toBe(false);
    });
  });
});

describe("checkpoints of ours as .pt", () => {
  it("are of the step that they were saved at, however far training is when they are written", async () => {
    const store = memoryStore();
    const hooks = [modelCheckpoint({ format: "pt", every: 1, saveLast: 9 })];
    const schedule = { name: "halves", interval: "step" as const, factor: ({ step }: { step: number }) => 0.5 ** step };
    await using trainer = trainerFor({ model: "mlp", optimizer: "adamw" }, { store, hooks, schedule });
    const rates: number[] = [];
    trainer.on("stepEnd", ({ lr }) => void rates.push(lr));
    const { status } = await trainer.fit({ steps: 2 * STEPS });
    expect(status).toBe("completed");
    const params = Object.keys(models.mlp!.model.init(nn.initKey(0)));
    const found: object[] = [];
    for (const { name, step } of await store.list()) {
      const file = await store.read(name, "checkpoint.pt");
      const { optimizers, ...read } = decodeTorchCheckpoint(file, name, { paramNames: [params] });
      found.push({
        saved: step,
        step: read.step,
        updates: optimizers[0]!.updates,
        lr: optimizers[0]!.groups[0]!.values.lr,
      });
    }
    expect(found).toEqual(rates.map((lr, i) => ({ saved: i + 1, step: i + 1, updates: i + 1, lr })));
  });

  it("resume in another model or with other groups: the error names the checkpoint", async () => {
    const store = memoryStore();
    const which = { model: "mlp", optimizer: "adamw" };
    await using first = trainerFor(which, { store, hooks: [modelCheckpoint({ format: "pt" })] });
    await first.fit({ steps: 1 });
    const groups = adamw({ groups: [{ params: "bias", weightDecay: 0 }] });
    await using other = trainerFor(which, { store, optimizer: groups });
    await expect(other.fit({ resume: "auto", steps: 2 })).rejects.toThrow(
      /^step-000001\/checkpoint\.pt: its optimizer "optimizer" has 1 parameter group, and 2 are expected\. Make/,
    );
    await using cnn = trainerFor({ ...which, model: "cnn" }, { store });
    await expect(cnn.fit({ resume: "auto", steps: 2 })).rejects.toThrow(
      /^step-000001: lacks .*Build the model as it was/,
    );
  });
});
