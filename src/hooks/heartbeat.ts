// heartbeat: writes a small file, sends a request, or both at intervals, so that a monitor outside can see that the run is alive.
import type { Cadence } from "../core/cadence.ts";
import type { ContextOf } from "../core/context.ts";
import { OptionError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { writeAtomically } from "../runs/atomic-write.ts";
import { Endpoint, ENDPOINT_CHECKS, type EndpointOptions } from "../net/endpoint.ts";
import { Outbox } from "../net/outbox.ts";
import { post } from "../net/http.ts";

/** Options of `heartbeat`. */
export interface HeartbeatOptions extends EndpointOptions {
  /** Replaced atomically at every beat, so that a reader never sees part of it. */
  readonly file?: string;
  /** Receives the same JSON as a POST request. */
  readonly url?: string | URL;
  /** Beats come with steps, so an evaluation can delay one. Default `"30 s"`. */
  readonly every?: Cadence;
  readonly name?: string;
}

/** A destination of beats. Only the latest matters: a pending beat is replaced by the next. */
interface Target {
  readonly shown: string;
  readonly send: (beat: string, signal: AbortSignal) => Promise<void>;
  readonly scrub: (message: string) => string;
}

function targetsOf({ file, ...options }: HeartbeatOptions): Target[] {
  const targets: Target[] = [];
  if (file !== undefined) {
    const send = (beat: string): Promise<void> => writeAtomically(file, `${beat}\n`, "heartbeat");
    targets.push({ shown: file, send, scrub: (message) => message });
  }
  if (options.url !== undefined) {
    const endpoint = new Endpoint("heartbeat", options);
    const send: Target["send"] = (beat, signal) => post(endpoint, beat, "application/json", signal);
    targets.push({ shown: endpoint.shown, send, scrub: (message) => endpoint.scrub(message) });
  }
  if (targets.length > 0) return targets;
  throw new OptionError("heartbeat: give `file`, `url` or both.");
}

/**
 * Writes or posts `{ step, epoch, time, status }` at the start, at intervals, and at the end of the run.
 * @example heartbeat({ file: "runs/digits/heartbeat.json", every: "10 s" })
 */
export const heartbeat = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "heartbeat",
    takes: () => ({
      options: {
        ...ENDPOINT_CHECKS,
        file: is.pathToWrite,
        every: is.cadence,
        name: is.name,
      },
    }),
  },
  makeHeartbeat,
);

function makeHeartbeat(options: HeartbeatOptions): Hook {
  const { every = "30 s", name = "heartbeat" } = options;
  const targets = targetsOf(options);
  let outboxes: Outbox<string>[] | undefined;
  let complained = false;

  function beat({ step, epoch, status }: Pick<ContextOf<"stepEnd">, "step" | "epoch" | "status">): void {
    const text = JSON.stringify({ step, epoch, time: new Date().toISOString(), status });
    outboxes ??= targets.map(({ send }) => new Outbox({ send, limit: 1, retries: 0, backoff: 0 }));
    for (const outbox of outboxes) outbox.push(text);
    // Report the first failure during the run, and the total at its end.
    if (!complained) complain(outboxes);
  }

  function complain(boxes: readonly Outbox<string>[]): void {
    const problems = boxes.flatMap(({ failed, lastError }, i) => {
      const { shown, scrub } = targets[i]!;
      return failed === 0 ? [] : [scrub(`${failed} beats did not reach ${shown}. The last error: ${lastError}.`)];
    });
    complained = problems.length > 0;
    if (complained) throw new Error(problems.join(" "));
  }

  return {
    name,
    // In this stage, failures are warnings.
    stage: "logger",
    ranks: "main",
    every,
    onTrainBegin: beat,
    onStepEnd: beat,
    onTrainEnd(ctx) {
      try {
        beat(ctx);
      } finally {
        for (const outbox of outboxes ?? []) outbox.finish();
      }
    },
    async onClose() {
      const last = outboxes ?? [];
      outboxes = undefined;
      complained = false;
      await Promise.all(last.map((outbox) => outbox.close()));
      complain(last);
    },
  };
}
