// Ten small hooks, no two alike: what people write into onStepEnd, without the printing.

/** The part of a context that they read. */
export interface Seen {
  readonly step: number;
  readonly epoch: number;
  readonly samplesSeen: number;
  readonly elapsed: number;
  readonly status: string;
}

export type HookFunction = (ctx: Seen) => void;

/** New functions with memories of their own. */
export function makeHooks(): HookFunction[] {
  let calls = 0;
  let last = 0;
  let best = Number.POSITIVE_INFINITY;
  let epochs = 0;
  let samples = 0;
  let smooth = 0;
  let odd = false;
  let stopped = false;
  let checksum = 0;
  const recent = new Float64Array(64);
  return [
    () => void calls++,
    (ctx) => void (last = ctx.step),
    (ctx) => {
      if (ctx.step < best) best = ctx.step;
    },
    (ctx) => {
      if (ctx.epoch !== epochs) epochs = ctx.epoch;
    },
    (ctx) => void (samples = Math.max(samples, ctx.samplesSeen)),
    (ctx) => void (smooth += 0.1 * (ctx.elapsed - smooth)),
    () => void (odd = !odd),
    (ctx) => {
      if (ctx.status === "stopped") stopped = true;
    },
    (ctx) => void (recent[ctx.step & 63] = last),
    (ctx) => void (checksum = (checksum * 31 + ctx.step + (stopped ? 1 : 0)) | 0),
  ];
}
