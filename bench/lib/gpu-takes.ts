// How hookline trains a model on the xla engine in the benchmarks of the GPU: as one program that is called again and again, or
// by a trainer. Losses are read only at the end of the steps that were asked for, as in a training that nobody watches.
import { Trainer, type Model, type Tensors, type TrainerOptions } from "hookline";
import { initKey } from "hookline/nn";
import type { Optimizer } from "hookline/optim";
import type { XlaEngine } from "hookline/xla";
import type { Buffer } from "../../src/engines/engine.ts";
import { bareStep, type Setup } from "./gpu-models.ts";

export interface GpuAsk {
  readonly steps: number;
}

export interface GpuAnswer {
  /** Of one step. */
  readonly ms: number;
  readonly loss: number;
}

export type Take = (steps: number) => Promise<GpuAnswer>;

type Buffers = Readonly<Record<string, Buffer>>;
type Step = (...args: unknown[]) => Promise<[[Buffers, Record<string, Buffers>], Buffer]>;

/** The program alone, on one batch that stays on the device. `fixed`: arrays of the model that are not trained. */
export async function bareTake(engine: XlaEngine, setup: Setup, fixed: Buffers = {}): Promise<Take> {
  const rule = setup.optimizer as Optimizer;
  const named = <T, R>(of: Readonly<Record<string, T>>, make: (value: T) => R): Record<string, R> =>
    Object.fromEntries(Object.entries(of).map(([name, value]) => [name, make(value)]));
  const model = setup.model as Model;
  const host = model.init(initKey(0));
  let params: Buffers = named(host, (array) => engine.put(array));
  let slots: Record<string, Buffers> = named(host, ({ data, shape }) =>
    Object.fromEntries(rule.slots.map((slot) => [slot, engine.put({ data: new Float32Array(data.length), shape })])),
  );
  const hyper = named(rule.hyper(rule.defaults, 1), (value) => engine.put({ data: Float32Array.of(value), shape: [] }));
  setup.train.begin(0, 0);
  const { x, y } = (await setup.train.next())!;
  const batch = [engine.put(x!), engine.put(y!)];
  const program = (given: Tensors, ...rest: Parameters<ReturnType<typeof bareStep>>) => {
    const whole: Model = { ...model, apply: (own, ids, ctx) => model.apply({ ...own, ...given }, ids, ctx) };
    return bareStep({ ...setup, model: whole })(...rest);
  };
  const step = engine.jit(program as never, { donate: [1, 2] }) as unknown as Step;
  return async (steps) => {
    const begun = performance.now();
    let loss: Buffer | undefined;
    for (let i = 0; i < steps; i++) {
      if (loss) engine.free(loss);
      const made = step(fixed, params, slots, ...batch, hyper);
      [[params, slots], loss] = made instanceof Promise ? await made : made;
    }
    const [value] = engine.read(loss!);
    engine.free(loss!);
    return { ms: (performance.now() - begun) / steps, loss: value! };
  };
}

/** A training that stops after the steps that were asked for, until more are. */
export function trainerTake(engine: XlaEngine, options: TrainerOptions): Take {
  let [left, steps, begun] = [0, 0, 0];
  let done: (answer: GpuAnswer) => void;
  let goOn: (() => void) | undefined;
  const trainer = new Trainer({ ...options, engine, signals: false, steps: 10 ** 9 });
  trainer.on("stepEnd", (ctx) => {
    if (--left > 0) return undefined;
    const { loss } = ctx;
    done({ ms: (performance.now() - begun) / steps, loss });
    return new Promise<void>((resolve) => (goOn = resolve));
  });
  return (asked) =>
    new Promise((resolve, reject) => {
      [left, steps, begun, done] = [asked, asked, performance.now(), resolve];
      if (goOn) goOn();
      else void trainer.fit().catch(reject);
    });
}
