// Logs to Weights & Biases: online through a queue on disk, or offline into files for `wandb sync`.
import { component } from "../../core/component.ts";
import { OptionError } from "../../core/errors.ts";
import { is, type Check } from "../../core/options.ts";
import { redact } from "../../platform/redact.ts";
import type { LoggerBackend } from "../backend.ts";
import type { RunFacts } from "../../runs/types.ts";
import {
  REMOTE_CHECKS,
  type RemoteOptions,
  type RemoteSettings,
  allSecrets,
  checkSecrets,
  environment,
  mapTexts,
} from "../remote/remote-backend.ts";
import { checkUrl, type ServiceOptions } from "../remote/service.ts";
import { threadedBackend, type MakeBackend } from "../threaded-backend.ts";
import { wandbSender, type WandbHead } from "./sender.ts";
import { safeId } from "./rows.ts";
import { wandbOffline, type OfflineSettings } from "./offline.ts";

/** Options of `wandb`. */
export interface WandbOptions extends RemoteOptions {
  /** Default: `WANDB_PROJECT`, else `uncategorized`. */
  readonly project?: string;
  /** Person or team. Default: `WANDB_ENTITY`, else the owner of the key. */
  readonly entity?: string;
  /** Default: `WANDB_NAME`, else the run's name. */
  readonly name?: string;
  /** Default: `WANDB_MODE`, else online. Offline writes `<runDir>/wandb/offline-run-…`, for `wandb sync`. */
  readonly mode?: "online" | "offline";
  /** Default: `WANDB_TAGS`, separated by commas. */
  readonly tags?: readonly string[];
  /** Default: `WANDB_BASE_URL`, else `https://api.wandb.ai`. */
  readonly baseUrl?: string;
  /** Default: `WANDB_API_KEY`. */
  readonly apiKey?: string;
}

/** A backend of `logger`: `logger([wandb({ project: "digits" })])`. */
export const wandb = /* @__PURE__ */ component(
  {
    kind: "logger",
    name: "wandb",
    takes: () => ({
      options: {
        ...REMOTE_CHECKS,
        // Checked separately, because a message must not show them.
        apiKey: { ...is.anything, expected: is.name.expected },
        baseUrl: { ...is.anything, expected: 'an address such as "https://api.wandb.ai"' },
        project: is.name,
        entity: is.name,
        name: is.name,
        mode: is.oneOf("online", "offline"),
        tags: is.arrayOf(is.name),
      } satisfies Record<keyof WandbOptions, Check>,
    }),
    checkEnvironment: checkWandb,
  },
  (options: WandbOptions = {}): LoggerBackend => {
    checkSecrets("wandb", options, ["apiKey", "baseUrl"]);
    // Copied, so that later changes of the caller's object have no effect.
    const given = { ...options };
    const backend = threadedBackend({
      name: "wandb",
      kind: "wandb",
      make: wandbRun,
      settings: (run) => settingsOf(given, run),
      warn: given.warn,
      images: true,
    });
    // The environment is read when the run begins, not when the options are written.
    const open: LoggerBackend["open"] = (run, warn) =>
      modeOf(given) === "disabled" ? undefined : backend.open(run, warn);
    return { ...backend, open };
  },
);

type WandbSettings = RemoteSettings | OfflineSettings;

/** One run of it, on the logging thread. */
export const wandbRun: MakeBackend<WandbSettings> = (settings, warn) =>
  "service" in settings ? wandbSender(settings, warn) : wandbOffline(settings, warn);

/** Throws when there is no key, or when it would be sent unencrypted. */
export function checkWandb(options: WandbOptions): void {
  if (modeOf(options) === "online") serviceOf(options);
}

function modeOf(options: WandbOptions): "online" | "offline" | "disabled" {
  const mode = options.mode ?? environment()["WANDB_MODE"];
  if (mode === "offline" || mode === "dryrun") return "offline";
  return mode === "disabled" ? mode : "online";
}

function headOf(options: WandbOptions, run: RunFacts, secrets: readonly string[]): WandbHead {
  const env = environment();
  // Names and tags that the user writes may hold a secret.
  const scrub = (text: string): string => redact(text, secrets);
  const tags = options.tags ?? (env["WANDB_TAGS"] ?? "").split(",").filter((tag) => tag !== "");
  return {
    part: crypto.randomUUID(),
    id: safeId(run.id),
    name: scrub(options.name ?? env["WANDB_NAME"] ?? run.name),
    project: options.project ?? env["WANDB_PROJECT"] ?? "uncategorized",
    entity: options.entity ?? env["WANDB_ENTITY"] ?? "",
    tags: tags.map(scrub),
    resumed: run.resumedAt !== undefined,
    config: mapTexts(run.hparams, scrub),
  };
}

function serviceOf(options: WandbOptions): ServiceOptions {
  const env = environment();
  const apiKey = options.apiKey ?? env["WANDB_API_KEY"] ?? "";
  if (apiKey === "") {
    throw new OptionError('wandb: there is no key: set WANDB_API_KEY, give `apiKey`, or use mode: "offline".');
  }
  const { baseUrl = env["WANDB_BASE_URL"] ?? "https://api.wandb.ai", allowHttp = false, timeout = 10_000 } = options;
  const url = checkUrl("wandb", "`baseUrl`", baseUrl, { secret: true, allowHttp });
  const basic = btoa(`api:${apiKey}`);
  const secrets = allSecrets(apiKey, basic, new URL(baseUrl).password);
  return { owner: "wandb", url, headers: { authorization: `Basic ${basic}` }, secrets, timeout };
}

function settingsOf(options: WandbOptions, run: RunFacts): WandbSettings {
  if (modeOf(options) === "offline") return { head: headOf(options, run, allSecrets()) };
  const service = serviceOf(options);
  const { sendEvery, backoff, queueBytes } = options;
  return { service, head: { ...headOf(options, run, service.secrets) }, sendEvery, backoff, queueBytes };
}
