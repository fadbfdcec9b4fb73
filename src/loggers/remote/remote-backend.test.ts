// A backend that sends: what goes wrong behind the run's back is a warning.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { logRecord, runEnd, runFacts } from "../../../tests/support/logger-facts.ts";
import { DiskQueue } from "./disk-queue.ts";
import { remoteBackend } from "./remote-backend.ts";

it("a queue that fails between two steps is one warning, and what comes later is sent", async () => {
  const dir = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const [sent, warnings]: [string[], string[]] = [[], []];
  const service = { owner: "service", url: "http://127.0.0.1:9", headers: {}, secrets: [], timeout: 100 };
  const settings = { service, head: null, sendEvery: 10, backoff: 10, queueBytes: undefined };
  const courier = { state: null, send: async ({ lines }: { lines: readonly string[] }) => void sent.push(...lines) };
  const backend = remoteBackend(settings, (warning) => void warnings.push(warning), {
    media: false,
    courier: () => courier,
  });
  await backend.open(runFacts({ dir }));
  const append = vi.spyOn(DiskQueue.prototype, "append").mockImplementation(() => {
    throw new Error("EROFS");
  });
  for (const step of [1, 2]) {
    backend.log(logRecord(step, { scalars: { loss: 1 } }));
    // Here an error would come out; in a process it would end it.
    vi.advanceTimersByTime(500);
  }
  append.mockRestore();
  backend.log(logRecord(3, { scalars: { loss: 1 } }));
  vi.advanceTimersByTime(500);
  await backend.close(runEnd({ step: 3 }));
  expect(warnings).toEqual(["what was logged is lost: EROFS"]);
  // The last step waits for what may belong to it, so that only the first was in what failed; then the end of the run.
  expect(sent.map((line) => (JSON.parse(line) as { step?: number }).step)).toEqual([2, 3, 3]);
});
