// Logs to an MLflow tracking server: metrics, parameters and how the run ended, through a queue on disk.
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
  stringsOf,
} from "../remote/remote-backend.ts";
import { checkUrl, type ServiceOptions } from "../remote/service.ts";
import { threadedBackend } from "../threaded-backend.ts";
import { mlflowSender, type MlflowHead } from "./sender.ts";

/** Options of `mlflow`. */
export interface MlflowOptions extends RemoteOptions {
  /** The tracking server, `http://127.0.0.1:5000`. Default: `MLFLOW_TRACKING_URI`. */
  readonly uri?: string;
  /** Created if it does not exist. Default: `MLFLOW_EXPERIMENT_NAME`, else `Default`. */
  readonly experiment?: string;
  /** Default: the run's name. */
  readonly runName?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** Default: `MLFLOW_TRACKING_TOKEN`. */
  readonly token?: string;
  /** Default: `MLFLOW_TRACKING_USERNAME`, or the one in the address. */
  readonly username?: string;
  /** Default: `MLFLOW_TRACKING_PASSWORD`, or the one in the address. */
  readonly password?: string;
}

/** A backend of `logger`: `logger([mlflow({ uri: "http://127.0.0.1:5000", experiment: "digits" })])`. */
export const mlflow = /* @__PURE__ */ component(
  {
    kind: "logger",
    name: "mlflow",
    takes: () => ({
      options: {
        ...REMOTE_CHECKS,
        // Checked separately, because a message must not show them.
        uri: { ...is.anything, expected: 'an address such as "http://127.0.0.1:5000"' },
        token: { ...is.anything, expected: is.name.expected },
        password: { ...is.anything, expected: is.name.expected },
        username: is.name,
        experiment: is.name,
        runName: is.name,
        tags: stringsOf,
      } satisfies Record<keyof MlflowOptions, Check>,
    }),
    checkEnvironment: checkMlflow,
  },
  (options: MlflowOptions = {}): LoggerBackend => {
    checkSecrets("mlflow", options, ["uri", "token", "password"]);
    // Copied, so that later changes of the caller's object have no effect.
    const given = { ...options };
    const settings = (run: RunFacts): RemoteSettings => settingsOf(given, run);
    return threadedBackend({ name: "mlflow", kind: "mlflow", make: mlflowSender, settings, warn: given.warn });
  },
);

/** Throws when there is no server to log to, or when the key would be sent to it unencrypted. */
export function checkMlflow(options: MlflowOptions): void {
  serviceOf(options);
}

function serviceOf(options: MlflowOptions): ServiceOptions {
  const env = environment();
  const { uri = env["MLFLOW_TRACKING_URI"] ?? "", allowHttp = false, timeout = 10_000 } = options;
  if (uri === "") throw new OptionError("mlflow: there is no server: give `uri`, or set MLFLOW_TRACKING_URI.");
  const parsed = URL.canParse(uri) ? new URL(uri) : undefined;
  const token = options.token ?? env["MLFLOW_TRACKING_TOKEN"] ?? "";
  const username = options.username ?? env["MLFLOW_TRACKING_USERNAME"] ?? decodeURIComponent(parsed?.username ?? "");
  const password = options.password ?? env["MLFLOW_TRACKING_PASSWORD"] ?? decodeURIComponent(parsed?.password ?? "");
  const basic = username === "" ? "" : `Basic ${btoa(`${username}:${password}`)}`;
  const authorization = basic === "" && token !== "" ? `Bearer ${token}` : basic;
  const url = checkUrl("mlflow", "`uri`", uri, { secret: authorization !== "", allowHttp });
  const headers: Record<string, string> = authorization === "" ? {} : { authorization };
  const secrets = allSecrets(token, password, basic.slice("Basic ".length));
  return { owner: "mlflow", url, headers, secrets, timeout };
}

function settingsOf(options: MlflowOptions, run: RunFacts): RemoteSettings {
  const service = serviceOf(options);
  const scrub = (text: string): string => redact(text, service.secrets);
  const head: MlflowHead = {
    part: crypto.randomUUID(),
    id: run.id,
    name: scrub(options.runName ?? run.name),
    experiment: options.experiment ?? environment()["MLFLOW_EXPERIMENT_NAME"] ?? "Default",
    startedAt: run.startedAt,
    // The run's files are not uploaded: this says where they are.
    tags: mapTexts({ ...options.tags, ...(run.dir !== undefined && { hookline_run_directory: run.dir }) }, scrub),
    hparams: mapTexts(run.hparams, scrub),
  };
  const { sendEvery, backoff, queueBytes } = options;
  return { service, head: { ...head }, sendEvery, backoff, queueBytes };
}
