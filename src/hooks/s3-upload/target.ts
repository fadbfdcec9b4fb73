// Where uploads go: endpoint, bucket, prefix and keys, checked once, and messages that do not reveal keys.
import { OptionError } from "../../core/errors.ts";
import { is, show, type Check } from "../../core/options.ts";
import { isAddress, isPublicAddress } from "../../net/endpoint.ts";
import { redact, secretsOfEnvironment } from "../../platform/redact.ts";

export interface S3TargetOptions {
  /** The service: `https://s3.eu-central-1.amazonaws.com`, `https://<account>.r2.cloudflarestorage.com`, … */
  readonly endpoint: string | URL;
  /** Left out where the endpoint names it: `https://my-bucket.s3.amazonaws.com`. */
  readonly bucket?: string;
  /** Default: `AWS_REGION`, or `auto`. */
  readonly region?: string;
  /** The start of object keys: `<prefix>/<run>/<checkpoint>/<file>`. Default: none. */
  readonly prefix?: string;
  /** The run's part of object keys. Default: the run's id, which a resumed run keeps. */
  readonly run?: string;
  /** Default: `AWS_ACCESS_KEY_ID`, read when the run begins. */
  readonly accessKeyId?: string;
  /** Default: `AWS_SECRET_ACCESS_KEY`, read when the run begins. */
  readonly secretAccessKey?: string;
  /** Allow plain http. Default false. */
  readonly allowHttp?: boolean;
  /** Allow addresses of private networks and of this machine. Default false. */
  readonly allowPrivate?: boolean;
}

const PART = "[A-Za-z0-9_=.-]+";
/** No `..`, which could lead into another bucket. */
const isPath = (value: unknown): boolean =>
  typeof value === "string" &&
  new RegExp(`^${PART}(?:/${PART})*$`).test(value) &&
  value.split("/").every((part) => part !== "." && part !== "..");

const path: Check = {
  expected: 'a path of letters, digits and `. _ = -`, such as "team/digits"',
  schema: { type: "string" },
  test: isPath,
};

export const S3_TARGET_CHECKS = {
  // Checked below: the usual message would show the value, which may be a secret.
  endpoint: { ...is.anything, expected: 'the address of the service, such as "https://s3.eu-central-1.amazonaws.com"' },
  accessKeyId: { ...is.anything, expected: is.name.expected },
  secretAccessKey: { ...is.anything, expected: is.name.expected },
  bucket: {
    expected: "a bucket's name of 3 to 63 letters, digits, `.` and `-`",
    schema: { type: "string", minLength: 3, maxLength: 63 },
    test: (value: unknown) => typeof value === "string" && /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/i.test(value),
  },
  region: is.name,
  prefix: path,
  run: path,
  allowHttp: is.boolean,
  allowPrivate: is.boolean,
};

export interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Shorter texts are not keys, and redacting them would make messages unreadable. */
const isLong = (key: string | undefined): key is string => (key ?? "").length >= 8;

export class S3Target {
  /** With the bucket, as s3mini wants it. */
  readonly url: URL;
  readonly allowPrivate: boolean;
  readonly #options: S3TargetOptions;
  #secrets: readonly string[] = [];

  constructor(owner: string, options: S3TargetOptions) {
    const { bucket, allowHttp = false, allowPrivate = false } = options;
    const url = parse(owner, options.endpoint);
    if (url.protocol !== "https:" && !(allowHttp && url.protocol === "http:")) {
      const hint = url.protocol === "http:" ? " Set allowHttp: true if plain http is meant." : "";
      throw new OptionError(`${owner}: Expected \`endpoint\` to begin with https://, got ${url.protocol}//…${hint}`);
    }
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    if (!allowPrivate && (isAddress(host) ? !isPublicAddress(host) : /(^|\.)localhost\.?$/.test(host))) {
      throw new OptionError(
        `${owner}: \`endpoint\` leads to ${host}, which is not in the public internet. Set allowPrivate: true if that is meant.`,
      );
    }
    checkKeys(owner, options);
    url.pathname = [...url.pathname.split("/"), bucket].filter(Boolean).join("/");
    this.url = url;
    this.allowPrivate = allowPrivate;
    // A copy: later changes by the caller must have no effect.
    this.#options = { ...options };
    this.#secrets = [options.accessKeyId, options.secretAccessKey].filter((key) => isLong(key));
  }

  /** Its name in messages. */
  get shown(): string {
    return `${this.url.host}${this.url.pathname}`;
  }

  get region(): string {
    const { AWS_REGION, AWS_DEFAULT_REGION } = environment();
    return this.#options.region ?? AWS_REGION ?? AWS_DEFAULT_REGION ?? "auto";
  }

  /** The given keys, or those of the environment. */
  keys(owner: string): Keys {
    const { accessKeyId, secretAccessKey } = this.#options;
    const { AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "", AWS_SESSION_TOKEN = "" } = environment();
    const keys =
      accessKeyId !== undefined && secretAccessKey !== undefined
        ? { accessKeyId, secretAccessKey }
        : { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY };
    // Other secrets of the environment too, since a message of the service might quote one.
    this.#secrets = [keys.accessKeyId, keys.secretAccessKey, ...secretsOfEnvironment()].filter((key) => isLong(key));
    if (keys.accessKeyId === "" || keys.secretAccessKey === "") {
      throw new OptionError(
        `${owner}: there are no keys for ${this.shown}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give accessKeyId and secretAccessKey.`,
      );
    }
    if (accessKeyId === undefined && AWS_SESSION_TOKEN !== "") {
      throw new OptionError(
        `${owner}: the keys in the environment are temporary (AWS_SESSION_TOKEN is set), which s3mini cannot sign with. Use permanent keys.`,
      );
    }
    return keys;
  }

  /** `<prefix>/<run>/<checkpoint>/<file>` */
  keyOf(runId: string, checkpoint: string, file: string): string {
    const { prefix, run = runId } = this.#options;
    return [prefix, run, checkpoint, file].filter((part) => part !== undefined && part !== "").join("/");
  }

  /** The message with secrets redacted. */
  scrub(message: string): string {
    return redact(message, this.#secrets);
  }
}

function environment(): Record<string, string | undefined> {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env ?? {};
}

function parse(owner: string, endpoint: unknown): URL {
  if (typeof endpoint !== "string" && !(endpoint instanceof URL)) {
    throw new OptionError(`${owner}: Expected \`endpoint\` to be a URL such as "https://…", got ${show(endpoint)}`);
  }
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (!url?.host) {
    throw new OptionError(
      `${owner}: Expected \`endpoint\` to be a whole URL such as "https://s3.eu-central-1.amazonaws.com", got something else.`,
    );
  }
  if (url.username !== "" || url.password !== "" || url.search !== "") {
    throw new OptionError(
      `${owner}: Expected \`endpoint\` to be a plain address, got one with a user, a password or a query (it may hold a secret, so it is not shown). Keys go into accessKeyId and secretAccessKey.`,
    );
  }
  url.hash = "";
  return url;
}

function checkKeys(owner: string, options: S3TargetOptions): void {
  const names = ["accessKeyId", "secretAccessKey"] as const;
  for (const name of names) {
    const value: unknown = options[name];
    if (value === undefined || (typeof value === "string" && value !== "")) continue;
    throw new OptionError(`${owner}: Expected \`${name}\` to be a non-empty string (it is not shown).`);
  }
  const missing = names.filter((name) => options[name] === undefined);
  if (missing.length === 1)
    throw new OptionError(`${owner}: missing option \`${missing[0]}\`: the two keys go together.`);
}
