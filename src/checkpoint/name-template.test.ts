// Names from templates: formats, inserted metric names, and what must never become a path.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OptionError } from "../core/errors.ts";
import { NameTemplate } from "./name-template.ts";
import { isSafeName, sanitizeName } from "../core/safe-name.ts";

const values = { step: 500, epoch: 3, metrics: { "val/loss": 0.31831, loss: 1.5, huge: 1e21, bad: NaN } };
const plain = (template: string): string => new NameTemplate(template, { autoInsertMetricName: false }).render(values);

test.each([
  ["epoch_{epoch}_loss_{val/loss:.2f}", "epoch_3_loss_0.32"],
  ["{step:06d}", "000500"],
  ["{loss:d}", "1"],
  ["{val/loss:.3e}", "3.183e-1"],
  ["{val/loss:.3g}", "0.318"],
  ["{val_loss:.1f}", "0.3"],
  ["{huge}", "1e_21"],
  ["{bad}", "NaN"],
  ["best", "best"],
])("%s → %s", (template, name) => expect(plain(template)).toBe(name));

test("inserts the names of metrics unless told not to", () => {
  expect(new NameTemplate("{epoch}-{val/loss:.2f}").render(values)).toBe("epoch=3-val_loss=0.32");
});

test("an unknown metric is an error that lists what exists", () => {
  expect(() => plain("{val/los:.2f}")).toThrow(OptionError);
  expect(() => plain("{val/los:.2f}")).toThrow(
    "has {val/los}, but there is no such metric. Did you mean `val/loss`? There is: val/loss, loss, huge, bad, step, epoch.",
  );
});

test.each(["", " ", "{", "a}b", "{loss:x}", "{loss:.99f}", "{}", "{loss:2}{"])(
  "%j is refused when it is made",
  (template) => {
    expect(() => new NameTemplate(template)).toThrow(OptionError);
  },
);

/** Any code units, surrogates and control characters among them. */
const anything = fc.array(fc.nat(0xffff), { maxLength: 200 }).map((codes) => String.fromCharCode(...codes));
const nearlySafe = fc
  .array(fc.constantFrom("a", "b", ".", ".", "_", "=", "-", "/", " "), { maxLength: 120 })
  .map((chars) => chars.join(""));

describe("any text", () => {
  test("becomes a safe name, and a safe one stays as it is", () => {
    fc.assert(
      fc.property(fc.oneof(anything, nearlySafe), (text) => {
        const name = sanitizeName(text);
        expect(isSafeName(name)).toBe(true);
        if (isSafeName(text)) expect(name).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    "../../etc/passwd",
    "/abs",
    "a/../b",
    "..",
    ".",
    "con",
    "NUL.txt",
    "com1",
    "a\0b",
    "ünï",
    "__proto__",
    "a.",
  ])("%j is no path, no device and not hidden", (text) => expect(isSafeName(sanitizeName(text))).toBe(true));
});
