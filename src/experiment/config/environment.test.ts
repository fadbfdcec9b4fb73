import { describe, expect, it } from "vitest";
import { ConfigError } from "./config-error.ts";
import { fillText } from "./environment.ts";

const ENV = { LR: "1e-3", N: "5", YES: "true", NONE: "null", EMPTY: "", NAME: "digits", MANY: "a: 1", HEX: "0x10" };
const AT = { file: "c.yaml", line: 2, column: 3 };
const fill = (text: string): unknown => fillText(text, ENV, ["a", "b"], AT);

it.each([
  ["plain", "plain"],
  ["${LR}", 0.001],
  ["${N}", 5],
  ["${HEX}", 16],
  ["${YES}", true],
  ["${NONE}", null],
  ["${EMPTY}", null],
  ["${NAME}", "digits"],
  // Scalars only: a variable brings no structure.
  ["${MANY}", "a: 1"],
  ["runs/${NAME}-${N}", "runs/digits-5"],
  ["${MISSING:-7}", 7],
  ["${MISSING:-}", null],
  ["${EMPTY:-seven}", "seven"],
  ["${N:-7}", 5],
  ["${MISSING:-a b:-c}", "a b:-c"],
  ["x${EMPTY}y", "xy"],
  ["$${NAME}", "${NAME}"],
  ["$${NAME} is ${NAME}", "${NAME} is digits"],
  ["$NAME costs 5$", "$NAME costs 5$"],
])("%s is %j", (text, expected) => {
  expect(fill(text)).toEqual(expected);
});

describe("errors", () => {
  it.each([
    ["${MISSING}", "`MISSING` is not set"],
    ["${NAMES}", "Did you mean `NAME`?"],
    ["a ${MISSING} b", "${MISSING:-…}"],
    ["${", "Expected `${NAME}`"],
    ["${}", "Expected `${NAME}`"],
    ["${NAME", "Expected `${NAME}`"],
    ["${1X}", "Expected `${NAME}`"],
    ["${A B}", "Expected `${NAME}`"],
    ["${A-b}", "Expected `${NAME}`"],
    ["${MISSING:-${NAME}}", "nothing nested"],
    ["${__proto__}", "cannot be the name"],
    ["${constructor:-x}", "cannot be the name"],
    ["${toString}", "`toString` is not set"],
  ])("%s", (text, says) => {
    const run = (): unknown => fill(text);
    expect(run).toThrow(ConfigError);
    expect(run).toThrow(says);
    expect(run).toThrow("c.yaml:2:3: a.b: ");
  });
});
