import { expect, test } from "vitest";
import { text } from "../media.ts";
import { RunLog } from "./run-log.ts";

test("a boundary logs what was merged and reported before it, and nothing twice", () => {
  const log = new RunLog();
  log.merge({ "train/loss": 2 });
  expect(log.news).toBe(false);
  log.report({ drift: 1, note: text("hi") });
  expect(log.news).toBe(true);
  log.begin({ lr: 0.1 });
  log.end();
  expect(log.logged).toEqual({ lr: 0.1, "train/loss": 2, drift: 1 });
  expect(log.media).toEqual({ note: text("hi") });
  expect(log.news).toBe(false);
  log.begin({ lr: 0.2 });
  expect(log.logged).toEqual({ lr: 0.2 });
  expect(log.media).toEqual({});
});

test("what a hook reports while a boundary is logged is part of it, and no news for the next", () => {
  const log = new RunLog();
  log.begin({ lr: 0.1 });
  log.report({ drift: 1 });
  expect(log.logged).toEqual({ lr: 0.1, drift: 1 });
  log.end();
  expect(log.news).toBe(false);
  expect(log.unlogged).toEqual({});
  expect(log.metrics).toEqual({ drift: 1 });
});

test("clear forgets values, news and media that wait", () => {
  const log = new RunLog();
  log.report({ drift: 1, note: text("hi") });
  log.clear();
  expect([log.metrics, log.unlogged, log.news]).toEqual([{}, {}, false]);
  log.begin({});
  expect(log.media).toEqual({});
});
