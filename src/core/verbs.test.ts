import { describe, expect, test } from "vitest";
import { Context } from "./context.ts";
import { BUILTIN_EVENTS } from "./events.ts";
import { SKIP_SCOPES, VERBS, type SkipScope, type VerbName } from "./verbs.ts";

const verbs = Object.keys(VERBS) as VerbName[];
const scopes = Object.keys(SKIP_SCOPES) as SkipScope[];

describe("the table", () => {
  test.each(verbs)("%s is a method of the context, says what it does and names real events once", (verb) => {
    expect(typeof Context.prototype[verb]).toBe("function");
    const { does, events } = VERBS[verb];
    expect(does.length).toBeGreaterThan(10);
    expect(BUILTIN_EVENTS).toEqual(expect.arrayContaining([...events]));
    expect(new Set<string>(events).size).toBe(events.length);
    expect(events.length).toBeGreaterThan(0);
  });

  test("skip is valid where at least one of its scopes is", () => {
    const any = new Set<string>(scopes.flatMap((scope) => SKIP_SCOPES[scope]));
    expect([...any].toSorted()).toEqual([...VERBS.skip.events].toSorted());
  });

  test("a wider scope can be skipped wherever a narrower one can", () => {
    expect(SKIP_SCOPES.step).toEqual(expect.arrayContaining([...SKIP_SCOPES.batch]));
    expect(SKIP_SCOPES.epoch).toEqual(expect.arrayContaining([...SKIP_SCOPES.step]));
  });

  test("nothing changes a run that is over", () => {
    for (const verb of verbs) {
      for (const over of ["exception", "close"]) expect(VERBS[verb].events).not.toContain(over);
      // Best or averaged weights are put in place at the very end.
      if (verb !== "setParams") expect(VERBS[verb].events).not.toContain("trainEnd");
    }
  });
});
