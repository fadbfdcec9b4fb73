// Checks the bodies of `POST series` and `POST heat`, and translates ids into directories.
import { checkOptions, is } from "../../core/options.ts";
import type { Axis, HeatRequest, SeriesRequest } from "../wire.ts";
import { badRequest, gone } from "./answer.ts";
import type { ReadingRequest } from "./curves/reading-worker.ts";
import type { RunIndex } from "./run-index.ts";

const AXES: readonly Axis[] = ["step", "epoch", "time", "elapsed", "samples", "tokens"];
const PIXELS = {
  ...is.wholeFrom(2),
  test: (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 2 && (value as number) <= 10_000,
  expected: "a whole number from 2 to 10000",
};
const ID = { ...is.string, expected: "the id of a run" };

const REQUEST = {
  x: is.oneOf(...AXES),
  px: PIXELS,
  from: is.finite,
  to: is.finite,
  smooth: is.nonNegative,
  series: is.arrayOf(is.object),
};
const SERIES = { run: ID, name: is.string, after: is.wholeFrom(0), rev: is.wholeFrom(0) };
const HEAT = { run: ID, match: is.name, from: is.finite, to: is.finite, px: PIXELS };

/** Curves in one request: 50 runs on some charts. */
const MOST_CURVES = 1000;
/** More would make the pattern slow to compare. */
const MOST_STARS = 8;

type CurvesRequest = Extract<ReadingRequest, { kind: "series" }>["curves"];

export function curvesOf(index: RunIndex, body: unknown): CurvesRequest {
  checkOptions("series", body, REQUEST, ["x", "px", "series"]);
  const { x, px, from, to, smooth, series } = body as SeriesRequest;
  if (series.length > MOST_CURVES) throw badRequest(`At most ${MOST_CURVES} curves are answered at once.`);
  return series.map((each) => {
    checkOptions("series", each, SERIES, ["run", "name"]);
    const { run, name, after, rev } = each;
    return { run, name, after, rev, x, px, from, to, smooth, dir: directoryOf(index, run) };
  });
}

export function heatOf(index: RunIndex, body: unknown): Omit<Extract<ReadingRequest, { kind: "heat" }>, "kind"> {
  checkOptions("heat", body, HEAT, ["run", "match", "px"]);
  const { run, match, from, to, px } = body as HeatRequest;
  if (match.split("*").length - 1 > MOST_STARS) throw badRequest(`A pattern has at most ${MOST_STARS} stars.`);
  return { match, curve: { run, x: "step", px, from, to }, dir: directoryOf(index, run) };
}

function directoryOf(index: RunIndex, id: string): string {
  const found = index.find(id);
  if (!found) throw gone("run of this id");
  return found.dir;
}
