// Beats in a file and at a server: what they say, how often, and that neither can hurt the run.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hook } from "hookline";
import { tinyTrainer } from "hookline/testing";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { noticeServer } from "../../tests/support/notice-server.ts";
import { heartbeat, type HeartbeatOptions } from "./heartbeat.ts";

interface Beat {
  readonly step: number;
  readonly epoch: number;
  readonly time: string;
  readonly status: string;
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

const read = (file: string): Beat => JSON.parse(readFileSync(file, "utf8")) as Beat;

describe("heartbeat", () => {
  it("leaves how the run stands in its file, and no other file", async () => {
    const file = join(folder, "new/beat.json");
    const seen: Beat[] = [];
    const reader: Hook = {
      name: "reader",
      // As a watcher would: at any moment, and always whole.
      onStepBegin: ({ step }) =>
        vi.waitFor(
          () => {
            const beat = read(file);
            expect(beat.step).toBe(step - 1);
            seen.push(beat);
          },
          { timeout: 300_000, interval: 1 },
        ),
    };
    const begun = Date.now();
    await tinyTrainer({ hooks: [heartbeat({ file, every: 1 }), reader] }).fit();
    expect(seen.map(({ step, epoch, status }) => [step, epoch, status])).toEqual([
      [0, 0, "training"],
      [1, 0, "training"],
      [2, 0, "training"],
      [3, 0, "training"],
    ]);
    expect(read(file)).toMatchObject({ step: 4, status: "completed" });
    expect(Date.parse(read(file).time)).toBeGreaterThanOrEqual(begun);
    expect(Date.parse(read(file).time)).toBeLessThanOrEqual(Date.now());
    expect(readdirSync(join(folder, "new"))).toEqual(["beat.json"]);
  });

  it("beats at its cadence, at the beginning and at the end", async () => {
    const server = await noticeServer();
    onTestFinished(() => server.close());
    const hook = heartbeat({ url: server.url, every: "2 steps", allowHttp: true, allowPrivate: true });
    // So slow that no beat is overtaken by the next.
    const slow: Hook = { name: "slow", onStepBegin: ({ step }) => server.until(1 + Math.floor((step - 1) / 2)) };
    await tinyTrainer({ hooks: [hook, slow], steps: 5 }).fit();
    const beats = server.received.map(({ body }) => JSON.parse(body) as Beat);
    expect(beats.map(({ step, status }) => [step, status])).toEqual([
      [0, "training"],
      [2, "training"],
      [4, "training"],
      [5, "completed"],
    ]);
    expect(server.received[0]!.headers["content-type"]).toBe("application/json");
  });

  it("says how a run failed", async () => {
    const file = join(folder, "beat.json");
    const failing: Hook = {
      name: "failing",
      onStepEnd() {
        throw new Error("as planned");
      },
    };
    await expect(tinyTrainer({ hooks: [heartbeat({ file }), failing] }).fit()).rejects.toThrow("as planned");
    expect(read(file)).toMatchObject({ step: 1, status: "error" });
  });

  it("is a warning where the file cannot be written, and the run goes on", async () => {
    writeFileSync(join(folder, "taken"), "");
    const warnings: string[] = [];
    const result = await tinyTrainer({
      hooks: [heartbeat({ file: join(folder, "taken/beat.json") })],
      warn: (message) => void warnings.push(message),
    }).fit();
    expect(result.status).toBe("completed");
    expect(warnings).toEqual([expect.stringMatching(/did not reach .*taken\/beat\.json.*(ENOTDIR|EEXIST)/)]);
  });

  it("does not wait for a server that hangs: the next beat takes the place of the last", async () => {
    const server = await noticeServer("hang");
    onTestFinished(() => server.close());
    const file = join(folder, "beat.json");
    const warnings: string[] = [];
    const url = `${server.url}SECRET-KEY`;
    await tinyTrainer({
      hooks: [heartbeat({ file, url, every: 1, allowHttp: true, allowPrivate: true })],
      steps: 50,
      warn: (message) => void warnings.push(message),
    }).fit();
    expect(server.received).toHaveLength(1);
    expect(read(file)).toMatchObject({ step: 50, status: "completed" });
    expect(warnings).toEqual([expect.stringContaining("127.0.0.1")]);
    expect(warnings[0]).not.toContain("SECRET-KEY");
  });

  it.each([
    [{}, /give `file`, `url` or both/],
    [{ file: "x", evry: 3 }, /unknown option `evry`. Did you mean `every`\?/],
    [{ url: "http://example.com" }, /begin with https/],
    [{ url: "https://10.0.0.1" }, /allowPrivate/],
  ])("refuses %o", (options, message) => {
    expect(() => heartbeat(options as HeartbeatOptions)).toThrow(message);
  });
});
