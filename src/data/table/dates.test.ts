import fc from "fast-check";
import { expect, test } from "vitest";
import { dateOf } from "./dates.ts";

test("what Date.parse reads, without a zone in UTC", () => {
  fc.assert(
    fc.property(
      fc.date({
        min: new Date("0000-01-01T00:00:00Z"),
        max: new Date("9999-12-31T23:59:59.999Z"),
        noInvalidDate: true,
      }),
      (date) => {
        const text = date.toISOString();
        expect(dateOf(text)).toBe(date.getTime());
        expect(dateOf(text.slice(0, -1))).toBe(date.getTime());
        expect(dateOf(text.slice(0, 19).replace("T", " "))).toBe(Math.floor(date.getTime() / 1000) * 1000);
        expect(dateOf(text.slice(0, 10))).toBe(Date.parse(text.slice(0, 10)));
      },
    ),
  );
});

test("zones and fractions", () => {
  for (const text of ["2024-05-31T12:00+02:00", "2024-05-31T12:00:00.5-11:30", "2024-05-31T12:00:01.25Z"])
    expect(dateOf(text)).toBe(Date.parse(text));
  expect(dateOf("2024-05-31 12:00+0200")).toBe(Date.parse("2024-05-31T10:00Z"));
  expect(dateOf("2024-05-31 12:00+02")).toBe(Date.parse("2024-05-31T10:00Z"));
  expect(dateOf("2024-05-31T12:00:00.123456789Z")).toBe(Date.parse("2024-05-31T12:00:00.123Z"));
});

test.each([
  "",
  "2024",
  "2024-1-1",
  "2024-13-01",
  "2023-02-29",
  "1900-02-29",
  "2024-04-31",
  "2024-00-10",
  "2024-05-31T",
  "2024-05-31T24:00",
  "2024-05-31T12:60",
  "2024-05-31T12:00:",
  "2024-05-31T12:00:0",
  "2024-05-31T12:00:60",
  "2024-05-31T12:00:00.",
  "2024-05-31T12:00:00+25:00",
  "2024-05-31T12:00+2",
  "2024-05-31x12:00",
  "31.05.2024",
  "2024/05/31",
  "2024-05-31Z",
  "20240531",
  "2024-05-311",
])("%j is no date", (text) => {
  expect(dateOf(text)).toBeNaN();
});
