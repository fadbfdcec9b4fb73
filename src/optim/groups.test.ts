import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { adamw } from "./adam.ts";
import { resolveGroups } from "./groups.ts";
import { sgd } from "./sgd.ts";

const names = ["embed.weight", "blocks.0.weight", "blocks.0.bias", "head.weight", "head.bias"];

describe("resolveGroups", () => {
  test("the first matching group wins, the rest is `default`", () => {
    const optimizer = adamw({
      lr: 1e-3,
      groups: [
        { params: "bias", weightDecay: 0 },
        { params: "head.*", name: "head", lr: 1e-2 },
      ],
    });
    expect(resolveGroups(optimizer, names)).toEqual([
      { name: "group0", values: { lr: 1e-3, weightDecay: 0 }, params: ["blocks.0.bias", "head.bias"] },
      { name: "head", values: { lr: 1e-2, weightDecay: 0.01 }, params: ["head.weight"] },
      { name: "default", values: { lr: 1e-3, weightDecay: 0.01 }, params: ["embed.weight", "blocks.0.weight"] },
    ]);
  });

  test("an empty default group is left out; without groups there is only `default`", () => {
    expect(resolveGroups(sgd({ groups: [{ params: "*" }] }), names).map((g) => g.name)).toEqual(["group0"]);
    expect(resolveGroups(sgd(), names)).toEqual([
      { name: "default", values: { lr: 1e-3, weightDecay: 0 }, params: names },
    ]);
  });

  test("`0.` is the first layer, and not the tenth after it", () => {
    const layers = ["0.weight", "1.weight", "10.weight"];
    expect(resolveGroups(sgd({ params: "0." }), layers).map((g) => g.params)).toEqual([["0.weight"]]);
    const groups = resolveGroups(sgd({ groups: [{ params: "0." }, { params: "1" }] }), layers);
    expect(groups.map((g) => g.params)).toEqual([["0.weight"], ["1.weight"], ["10.weight"]]);
  });

  test("`params` limits the optimizer before its groups are looked at", () => {
    const groups = resolveGroups(sgd({ params: "head", groups: [{ params: "bias" }] }), names);
    expect(groups.map((g) => g.params)).toEqual([["head.bias"], ["head.weight"]]);
  });

  test("a filter without a match says what there is", () => {
    expect(() => resolveGroups(sgd({ groups: [{ params: "wieght" }] }), names)).toThrow(
      "sgd: group `group0`: no parameter matches `wieght`. Did you mean `weight`? Parameters: embed.weight, blocks.0.weight",
    );
    expect(() => resolveGroups(sgd({ params: ["heda.weight"] }), names)).toThrow("Did you mean `head.weight`?");
    expect(() => resolveGroups(sgd({ groups: [{ params: () => false, name: "none" }] }), names)).toThrow(
      "group `none`: no parameter matches its function.",
    );
  });

  test("a group that earlier ones leave empty is an error", () => {
    const optimizer = sgd({ groups: [{ params: "*" }, { params: "head.bias" }] });
    expect(() => resolveGroups(optimizer, names)).toThrow("Put the narrower group first.");
  });

  test("group names must differ, and `default` is taken", () => {
    const twice = [
      { params: "a", name: "x" },
      { params: "b", name: "x" },
    ];
    expect(() => sgd({ groups: twice })).toThrow("groups[1] is named `x`, a name already taken");
    expect(() => sgd({ groups: [{ params: "a", name: "default" }] })).toThrow(
      "by the parameters that no group matches",
    );
    expect(() => sgd({ groups: [{ lr: 1 } as never] })).toThrow("sgd: groups[0]: missing option `params`");
  });

  test("every parameter is in exactly one group", () => {
    // The first of each group's names is its own, so that no group ends up empty.
    const extra = fc.subarray(names);
    fc.assert(
      fc.property(fc.shuffledSubarray(names), fc.array(extra, { minLength: 5, maxLength: 5 }), (own, more) => {
        const filters = own.map((name, i) => [name, ...more[i]!.filter((other) => !own.includes(other))]);
        const groups = resolveGroups(sgd({ groups: filters.map((params) => ({ params })) }), names);
        expect(groups.flatMap((g) => g.params).sort()).toEqual([...names].sort());
        expect(groups.every((g) => g.params.length > 0)).toBe(true);
      }),
    );
  });
});
