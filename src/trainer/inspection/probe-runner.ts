// One forward pass to look inside the model: for `runWithProbes`, `probePoints` and the search for what went bad.
import type { HostArray } from "../../core/arrays.ts";
import type { HostBatch, HostTensors } from "../../core/model.ts";
import type { NameFilter } from "../../core/names.ts";
import { is } from "../../core/options.ts";
import { checkProbe, type Activations, type Probe, type ProbeRequest, type ReplaceFn } from "../../core/inspection.ts";
import type { Plan } from "../../core/loop/session.ts";
import { freeAll, readBuffer, type Buffer, type Engine, type Tree } from "../../engines/engine.ts";
import { outOfRange, type PlacedRange } from "../../nn/indices.ts";
import { stepKey } from "../../nn/key.ts";
import { ActivationsOf, Collected, type BufferGroups, readTree } from "./activations-view.ts";
import type { Buffers, DeviceState } from "../device-state.ts";
import { type Compiled, ProgramCache, runProgram } from "../programs/run.ts";
import { matchPoints } from "../programs/probes.ts";
import { listPoints, predictBatch, usedIndices } from "../programs/programs.ts";
import type { Specs, StepSpec } from "../specs.ts";

/** Options of `runWithProbes`. */
export interface RunWithProbesOptions extends Omit<ProbeRequest, "match" | "replace"> {
  /** Which points to collect. Default: all. */
  readonly match?: NameFilter;
  /** `"arrays"` (default) or `"stats"`. */
  readonly collect?: "stats" | "arrays";
  /** Changes the points of `match`, or others: `{ "blocks.0.attn.pattern": (x) => x.mul(0) }`. */
  readonly replace?: ReplaceFn | Readonly<Record<string, ReplaceFn>>;
  /** As training sees the batch: dropout drops, batch norm uses the batch's own statistics. Default false. */
  readonly train?: boolean;
}

/** What `runWithProbes` resolves to. */
export interface ProbedRun {
  readonly outputs: HostArray | HostTensors;
  readonly activations: Activations;
}

/** Which random numbers a pass in training mode draws. */
interface Draw {
  readonly loader: string;
  readonly step: number;
  readonly micro: number;
}

const OWNER = "runWithProbes";
const EVERYTHING = (): boolean => true;
const ONE_OFF: Draw = { loader: "predict", step: 0, micro: 0 };
const PLAN: Plan = {
  kind: "fused",
  because: "",
  outputs: true,
  gradNorm: false,
  batchMetrics: false,
  finite: false,
  probes: [],
};

export class ProbeRunner {
  readonly #engine: Engine;
  readonly #state: DeviceState;
  readonly #specs: Specs;
  readonly #seed: number;
  readonly #programs: ProgramCache;
  /** Points by the form of the batch: listing them costs a trace of the model. */
  readonly #points = new Map<string, readonly string[]>();

  constructor(engine: Engine, state: DeviceState, specs: Specs, seed: number) {
    this.#engine = engine;
    this.#state = state;
    this.#specs = specs;
    this.#seed = seed;
    this.#programs = new ProgramCache(engine);
  }

  /** The points of the model for such a batch, in the order of the program. */
  async points(host: HostBatch, train = false, draw = ONE_OFF): Promise<readonly string[]> {
    const form = Object.entries(host).map(([name, { data, shape }]) => [name, data.constructor.name, ...shape].join());
    const key = [train, draw.loader, ...form].join("|");
    const known = this.#points.get(key);
    if (known) return known;
    let names: readonly string[] = [];
    const spec = this.#specs.get(PLAN, draw.loader);
    const list = listPoints(spec, train, (found) => void (names = found));
    const program: Compiled = this.#engine.jit(list as never);
    freeAll(this.#engine, await this.#pass("list of points", program, spec, host, draw));
    this.#points.set(key, names);
    return names;
  }

  async run(host: HostBatch, options: RunWithProbesOptions): Promise<ProbedRun> {
    const { match = EVERYTHING, replace, train = false, ...rest } = options;
    checkProbe(OWNER, { ...options, match }, { replace: is.or(is.function, is.object), train: is.boolean });
    return this.#run(host, { collect: "arrays", ...rest, match }, replace, train, ONE_OFF);
  }

  /**
   * The first point, in the order of the program, with values that are NaN or infinite in this pass of training;
   * undefined when there is none. The pass draws the step's own random numbers and changes nothing.
   */
  async firstBadPoint(host: HostBatch, draw: Draw): Promise<string | undefined> {
    const { activations } = await this.#run(host, { match: EVERYTHING }, undefined, true, draw);
    return activations.names.find((name) => activations.stats(name).nonFinite > 0);
  }

  /** A label or an id of this pass of training that is out of range, in words: one that the model computed too. */
  async firstBadIndex(host: HostBatch, draw: Draw): Promise<string | undefined> {
    const spec = this.#specs.get(PLAN, draw.loader);
    const ranges: PlacedRange[] = [];
    const program: Compiled = this.#engine.jit(usedIndices(spec, ranges) as never);
    const used = (await this.#pass("look at indices", program, spec, host, draw)) as Buffers;
    try {
      for (const [i, range] of ranges.entries()) {
        const { data, shape } = await readBuffer(this.#engine, used[`indices ${i}`]!);
        const bad = outOfRange(range, data, shape);
        if (bad !== undefined) return bad;
      }
      return undefined;
    } finally {
      freeAll(this.#engine, used);
    }
  }

  async #run(
    host: HostBatch,
    wanted: ProbeRequest,
    replace: RunWithProbesOptions["replace"],
    train: boolean,
    draw: Draw,
  ): Promise<ProbedRun> {
    const points = await this.points(host, train, draw);
    // By name from here on: a predicate written in place would be a new program each time.
    const select = (match: NameFilter): string[] => matchPoints(OWNER, match, points);
    const all = wanted.match === EVERYTHING;
    const request: ProbeRequest = { ...wanted, match: all ? [...points] : select(wanted.match) };
    const replacing =
      typeof replace === "function" ? [[request.match, replace] as const] : Object.entries(replace ?? {});
    const probe = (each: ProbeRequest): Probe => ({ hook: "", request: each });
    const spec = this.#specs.get(
      { ...PLAN, probes: points.length === 0 ? [] : [probe(request)] },
      draw.loader,
      replacing.map(([match, fn]) => probe({ match: typeof match === "string" ? select(match) : match, replace: fn })),
    );
    const program = this.#programs.of(spec, `predict ${train}`, () => predictBatch(spec, train));
    const result = await this.#pass("pass with probes", program, spec, host, draw);
    const { outputs, activations } = result as unknown as { outputs: Tree<Buffer>; activations: BufferGroups };
    const collected = new Collected(this.#engine, activations);
    try {
      await collected.readAll();
      return { outputs: await readTree(this.#engine, outputs), activations: new ActivationsOf(collected, request) };
    } finally {
      collected.free();
      freeAll(this.#engine, outputs);
    }
  }

  async #pass(
    what: string,
    program: Compiled,
    { indices }: StepSpec,
    host: HostBatch,
    draw: Draw,
  ): Promise<Tree<Buffer>> {
    indices.check(host);
    const batch = Object.fromEntries(Object.entries(host).map(([name, array]) => [name, this.#engine.put(array)]));
    const key = this.#engine.put({ data: stepKey(this.#seed, draw.step, draw.micro), shape: [2] });
    try {
      while (this.#state.taken) await this.#state.taken;
      const { params, state } = this.#state;
      return await runProgram(
        program,
        { what, loader: draw.loader, host },
        this.#state.withBase(params),
        state,
        batch,
        key,
      );
    } finally {
      freeAll(this.#engine, [batch, key]);
    }
  }
}
