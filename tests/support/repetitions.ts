// What tests repeat, with chance or over many like cases: enough of it in `npm test`, all of it in `npm run soak`.

export const isSoak: boolean = process.env["HOOKLINE_SOAK"] !== undefined;

/** One in `every` of these, from one of the first on; all of them in the soak. */
export const oneIn = <T>(every: number, all: readonly T[], nth = 0): readonly T[] =>
  isSoak ? all : all.filter((_, i) => i % every === nth % every);
