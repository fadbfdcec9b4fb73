// What a notice says when nobody gives a template. Epochs count from 1, as in everything that people read.
import type { WebhookInfo } from "../webhook.ts";

type Told = Omit<WebhookInfo, "text">;

/** Long enough for any message worth reading on a phone. */
const LONGEST = 2000;

const number = (value: number): string => String(Number(value.toPrecision(5)));

function metricsLine(metrics: Told["metrics"]): string {
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

function headline(info: Told, at: string): string {
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

export function noticeText(info: Told): string {
  const at = `step ${info.step} (epoch ${info.epoch + 1})`;
  const { best, event } = info;
  const bestLine = best && event === "trainEnd" ? `Best ${best.monitor}: ${number(best.value)}.` : "";
  const withMetrics = event === "trainEnd" || event === "epochEnd" || event === "evalEnd";
  const lines = [headline(info, at), bestLine, withMetrics ? metricsLine(info.metrics) : ""];
  const text = lines.filter(Boolean).join("\n");
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
