import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { onTerminal } from "../../tests/support/on-terminal.ts";
import { table } from "./table.ts";

beforeEach(() => void vi.stubEnv("NO_COLOR", "1"));
afterEach(() => void vi.unstubAllEnvs());

const HEAD = ["run", "ended", " steps", " val/loss", "started"];
const ROWS = [
  ["mlp", "3 epochs", "1200", "0.2500 @1200", "2026-03-01 12:00"],
  ["a-longer-name", "the loss went up and up and up", "80", "NaN @10", "2026-03-01 13:00"],
];
const narrow = { leaveOut: ["started", " steps"], cut: "ended" };
const WHOLE = `run            ended                            steps      val/loss  started
mlp            3 epochs                          1200  0.2500 @1200  2026-03-01 12:00
a-longer-name  the loss went up and up and up      80       NaN @10  2026-03-01 13:00`;

test("columns are as wide as their widest cell", () => expect(table(HEAD, ROWS, narrow)).toBe(WHOLE));

test("wide characters take the room that they take", () =>
  expect(table(["a", " b"], [["日本", "1"]])).toBe("a      b\n日本   1"));

test("what could steer a terminal is shown as text", () =>
  expect(table(["a"], [["\u001B[2J\u202Eb"]])).toBe("a\n\\u001b[2J\\u202eb"));

describe("on a terminal", () => {
  test("that has room, or of a table that says nothing of narrow ones", () => {
    onTerminal(90);
    expect(table(HEAD, ROWS, narrow)).toBe(WHOLE);
    onTerminal(30);
    expect(table(HEAD, ROWS)).toBe(WHOLE);
  });

  test("that is a little too narrow, a text is cut", () => {
    onTerminal(80);
    expect(table(HEAD, ROWS, narrow)).toBe(
      `run            ended                      steps      val/loss  started
mlp            3 epochs                    1200  0.2500 @1200  2026-03-01 12:00
a-longer-name  the loss went up and up…      80       NaN @10  2026-03-01 13:00`,
    );
  });

  test("that is narrower, columns are left out, and named; the text has the room", () => {
    onTerminal(60);
    expect(table(HEAD, ROWS, narrow)).toBe(
      `run            ended                    steps      val/loss
mlp            3 epochs                  1200  0.2500 @1200
a-longer-name  the loss went up and …      80       NaN @10
(no room for: started)`,
    );
    onTerminal(47);
    expect(table(HEAD, ROWS, narrow)).toBe(
      `run            ended                  val/loss
mlp            3 epochs           0.2500 @1200
a-longer-name  the loss went up…       NaN @10
(no room for: steps, started)`,
    );
  });

  test("that is too narrow for all of that, the longest text is cut further", () => {
    onTerminal(36);
    expect(table(HEAD, ROWS, narrow)).toBe(
      `run            ended       val/loss
mlp            3 epo…  0.2500 @1200
a-longer-name  the l…       NaN @10
(no room for: steps, started)`,
    );
    onTerminal(10);
    expect(table(HEAD, ROWS, narrow).split("\n")[2]).toBe("a-longer-name  …       NaN @10");
  });
});
