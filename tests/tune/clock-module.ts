// Loaded before a program: its clock is wrong by so many milliseconds (CLOCK_OFFSET_MS), as after somebody has set it.
const offset = Number(process.env["CLOCK_OFFSET_MS"] ?? 0);
const RealDate = Date;

globalThis.Date = class extends RealDate {
  constructor(...args: readonly unknown[]) {
    // oxlint-disable-next-line typescript/no-unsafe-argument -- whatever Date takes
    if (args.length > 0) super(...(args as [number]));
    else super(RealDate.now() + offset);
  }

  static override now(): number {
    return RealDate.now() + offset;
  }
} as DateConstructor;
