// webhook: sends notices about the run to a web service such as Slack, in the background.
import type { ContextOf } from "../core/context.ts";
import { OptionError } from "../core/errors.ts";
import { type CustomEvents, levelOf, methodOf } from "../core/events.ts";
import type { Hook } from "../core/hook.ts";
import { directionOf, monitorValue, unknownMonitor, nearest } from "../core/names.ts";
import { component } from "../core/component.ts";
import { is, show } from "../core/options.ts";
import { Endpoint, ENDPOINT_CHECKS, type EndpointOptions } from "../net/endpoint.ts";
import { Outbox } from "../net/outbox.ts";
import { post } from "../net/http.ts";

const EVENTS = ["trainBegin", "trainEnd", "exception", "epochEnd", "evalEnd"] as const;

/** When to send: at these events, at a new best value of `monitor`, or at custom events. */
export type WebhookEvent = (typeof EVENTS)[number] | "bestModel" | (keyof CustomEvents & string);

/** The content of a notice, for `template`. */
export interface WebhookInfo {
  readonly event: string;
  readonly step: number;
  readonly epoch: number;
  readonly status: string;
  /** Seconds of training. */
  readonly elapsed: number;
  /** The current time in ISO format. */
  readonly time: string;
  readonly metrics: Readonly<Record<string, number>>;
  /** Of `trainEnd`. */
  readonly reason?: string;
  /** Of `exception`: the message, with secrets redacted. */
  readonly error?: string;
  /** The monitored metric and its best value so far. */
  readonly best?: { readonly monitor: string; readonly value: number };
  /** Of a custom event. */
  readonly payload?: unknown;
  /** A summary in a line or two, which is sent without a template. */
  readonly text: string;
}

/** Options of `webhook`. */
export interface WebhookOptions extends EndpointOptions {
  readonly url: string | URL;
  /** When to send. Default `["trainEnd", "bestModel", "exception"]`. A failed run sends one notice, not two. */
  readonly on?: readonly WebhookEvent[];
  /** The metric of `bestModel`. Default `val/loss`, if there is one. */
  readonly monitor?: string;
  /** Whether lower or higher is better. Default `auto`: depends on the metric's name. */
  readonly mode?: "min" | "max" | "auto";
  /** Makes the body: a string is sent as it is, anything else as JSON. Default `{ text }`, the format of Slack. */
  readonly template?: (info: WebhookInfo) => unknown;
  /** Retries when the service fails or cannot be reached. Default 3, after 1, 2 and 4 seconds. */
  readonly retries?: number;
  readonly name?: string;
}

/** The most pending notices. */
const LIMIT = 256;

/** A pending notice. Its text is made when it is sent, since most of a flood of notices never are. */
type Notice = Omit<WebhookInfo, "text">;

/** What every event shows. */
type AnyContext = Pick<ContextOf<"close">, "step" | "epoch" | "status" | "elapsed" | "metrics">;

/**
 * Sends a notice at the end of the run, at every new best value of a metric and when the run fails.
 * @example webhook({ url: process.env.SLACK_URL, on: ["trainEnd", "exception"] })
 */
export const webhook = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "webhook",
    takes: () => ({
      options: {
        ...ENDPOINT_CHECKS,
        on: is.arrayOf(is.name),
        monitor: is.name,
        mode: is.oneOf("min", "max", "auto"),
        template: is.function,
        retries: is.wholeFrom(0),
        name: is.name,
      },
      required: ["url"],
    }),
  },
  makeWebhook,
);

function makeWebhook(options: WebhookOptions): Hook {
  const { on = ["trainEnd", "bestModel", "exception"], monitor = "val/loss", template, retries = 3 } = options;
  const { name = "webhook" } = options;
  const mode = options.mode === undefined || options.mode === "auto" ? directionOf(monitor) : options.mode;
  const endpoint = new Endpoint("webhook", options);
  checkEvents(on);

  let best: number | undefined;
  let outbox: Outbox<Notice> | undefined;
  let complained = false;

  async function send(notice: Notice, signal: AbortSignal): Promise<void> {
    const { error, reason } = notice;
    const clean = {
      ...notice,
      ...(error !== undefined && { error: endpoint.scrub(error) }),
      ...(reason !== undefined && { reason: endpoint.scrub(reason) }),
    };
    const info = { ...clean, text: endpoint.scrub(noticeText(clean)) };
    const body = template ? template(info) : { text: info.text };
    if (typeof body === "string") return post(endpoint, body, "text/plain; charset=utf-8", signal);
    return post(endpoint, JSON.stringify(body) ?? "null", "application/json", signal);
  }

  const complaint = (problem: string): Error => new Error(endpoint.scrub(`Notices to ${endpoint.shown}: ${problem}`));

  function tell(event: string, ctx: AnyContext, more: Partial<Notice> = {}): void {
    const { step, epoch, status, elapsed } = ctx;
    const time = new Date().toISOString();
    const bestSoFar = best === undefined ? {} : { best: { monitor, value: best } };
    outbox ??= new Outbox({ send, limit: LIMIT, retries, backoff: 1000 });
    outbox.push({ event, step, epoch, status, elapsed, time, metrics: { ...ctx.metrics }, ...bestSoFar, ...more });
    // Report the first failure during the run, and the total at its end.
    if (complained || outbox.failed === 0) return;
    complained = true;
    throw complaint(outbox.problem!);
  }

  const own = on.filter((event): event is keyof CustomEvents & string => !isKnown(event));
  const tellOwn = own.map((event) => [
    methodOf(event),
    (ctx: AnyContext & { readonly payload: unknown }) => tell(event, ctx, { payload: ctx.payload }),
  ]);

  return {
    name,
    // In this stage failures are warnings, and metrics of other hooks are complete.
    stage: "logger",
    ranks: "main",
    onTrainBegin(ctx) {
      // A new run does not continue an earlier one's best value.
      if (ctx.step === 0) best = undefined;
      if (on.includes("trainBegin")) tell("trainBegin", ctx);
    },
    ...(on.includes("epochEnd") && { onEpochEnd: (ctx) => tell("epochEnd", ctx) }),
    ...((on.includes("evalEnd") || on.includes("bestModel")) && {
      onEvalEnd(ctx) {
        if (ctx.phase !== "eval" || ctx.partial) return;
        const value = monitorValue(ctx.metrics, monitor);
        const better = value !== undefined && isBetter(value, best, mode);
        if (better) best = value;
        if (better && on.includes("bestModel")) tell("bestModel", ctx);
        if (on.includes("evalEnd")) tell("evalEnd", ctx);
      },
    }),
    ...(on.includes("exception") && {
      onException: (ctx) => tell("exception", ctx, { error: String(ctx.error) }),
    }),
    onTrainEnd(ctx) {
      const isReported = ctx.status === "error" && on.includes("exception");
      try {
        if (on.includes("trainEnd") && !isReported) tell("trainEnd", ctx, { reason: ctx.reason });
      } finally {
        outbox?.finish();
      }
      const missed = on.includes("bestModel") && options.monitor !== undefined && best === undefined;
      if (missed && ctx.status !== "error") throw unknownMonitor("webhook", monitor, ctx.metrics);
    },
    async onClose() {
      const last = outbox;
      outbox = undefined;
      complained = false;
      await last?.close();
      if (last?.problem !== undefined) throw complaint(last.problem);
    },
    ...Object.fromEntries(tellOwn),
    state: () => ({ json: { best: best ?? null } }),
    load({ json }) {
      best = (json as { best: number | null }).best ?? undefined;
    },
  };
}

const isBetter = (value: number, best: number | undefined, mode: "min" | "max"): boolean =>
  !Number.isNaN(value) && (best === undefined || (mode === "min" ? value < best : value > best));

const isKnown = (event: string): boolean => event === "bestModel" || (EVENTS as readonly string[]).includes(event);

function checkEvents(on: readonly string[]): void {
  for (const event of on) {
    if (isKnown(event)) continue;
    // The registry reports other misspelled events; `bestModel` is not an event, so it cannot.
    const meant = nearest(event, ["bestModel"]);
    // At other events of hookline a notice would come with every step, or tell nothing.
    if (meant === undefined && levelOf(event) === "custom") continue;
    const hint = meant === undefined ? "" : ` Did you mean \`${meant}\`?`;
    throw new OptionError(
      `webhook: Expected \`on\` to name ${EVENTS.join(", ")}, bestModel or custom events, got ${show(event)}.${hint}`,
    );
  }
}

/** The longest text of a notice. */
const LONGEST = 2000;

const number = (value: number): string => String(Number(value.toPrecision(5)));

function metricsLine(metrics: Notice["metrics"]): string {
  const shown = Object.entries(metrics).slice(0, 12);
  return shown.map(([name, value]) => `${name} ${number(value)}`).join(", ");
}

function inWords(payload: unknown): string {
  try {
    return JSON.stringify(payload) ?? String(payload);
  } catch {
    return "(a payload that is no plain data)";
  }
}

function headline(info: Notice, at: string): string {
  const { event, status, reason, error, best, payload } = info;
  switch (event) {
    case "trainBegin":
      return `Training begins at ${at}.`;
    case "trainEnd":
      return `Training ${status} at ${at}, after ${number(info.elapsed)} s: ${reason}.`;
    case "exception":
      return `Training failed at ${at}: ${error}`;
    case "bestModel":
      return `New best ${best!.monitor}: ${number(best!.value)} at ${at}.`;
    case "epochEnd":
      return `Epoch ${info.epoch + 1} is over, at step ${info.step}.`;
    case "evalEnd":
      return `Evaluated at ${at}.`;
    default:
      return `${event} at ${at}${payload === undefined ? "" : `: ${inWords(payload)}`}`;
  }
}

/** The text of a notice without a template. Epochs count from 1 here. */
function noticeText(info: Notice): string {
  const at = `step ${info.step} (epoch ${info.epoch + 1})`;
  const { best, event } = info;
  const bestLine = best && event === "trainEnd" ? `Best ${best.monitor}: ${number(best.value)}.` : "";
  const withMetrics = event === "trainEnd" || event === "epochEnd" || event === "evalEnd";
  const lines = [headline(info, at), bestLine, withMetrics ? metricsLine(info.metrics) : ""];
  const text = lines.filter(Boolean).join("\n");
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
