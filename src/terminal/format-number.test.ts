import { expect, test } from "vitest";
import { formatMetric, formatNumber } from "./format-number.ts";

test.each([
  [0, "0"],
  [-0, "0"],
  [7, "7"],
  [1234567, "1234567"],
  [0.123456, "0.1235"],
  [2.3, "2.300"],
  [12.3456, "12.35"],
  [1234.56, "1235"],
  [9999.96, "10000"],
  [123456.7, "123457"],
  [1234567.8, "1.235e6"],
  [1e12, "1e12"],
  [0.001, "0.001000"],
  [0.00012346, "1.235e-4"],
  [-3e-9, "-3e-9"],
  [Number.NaN, "NaN"],
  [Infinity, "inf"],
  [-Infinity, "-inf"],
])("%d is shown as %s", (value, shown) => {
  expect(formatNumber(value)).toBe(shown);
});

test.each([
  ["val/accuracy", 0.97531, "97.53%"],
  ["accuracy", 1, "100.00%"],
  ["top5", 0.5, "50.00%"],
  ["val/acc", 0.25, "25.00%"],
  ["accuracy", 97.5, "97.50"],
  ["accuracy", Number.NaN, "NaN"],
  ["laccase", 0.5, "0.5000"],
  ["lr", 0.001, "0.001"],
  ["lr", 0.0019283, "0.00193"],
  ["lr", 0.0003, "3e-4"],
  ["lr/encoder", 1.23456e-5, "1.23e-5"],
  ["lr", 0, "0"],
  ["loss", 0.001, "0.001000"],
])("%s %d is shown as %s", (name, value, shown) => {
  expect(formatMetric(name, value)).toBe(shown);
});
