// The requests that an upload makes to a bucket, through s3mini. Each fails with a SendError.
import { retryAfterMs, SendError } from "../../net/retry.ts";
import { optionalPackage } from "../../platform/optional-package.ts";
import type { HttpRequest, HttpClient } from "../../net/http.ts";

/** The part of s3mini in use. Declared here, since its own types are missing where it is not installed. */
export interface S3mini {
  objectExists(key: string): Promise<boolean | null>;
  putObject(key: string, data: Uint8Array, type?: string): Promise<Response>;
  getMultipartUploadId(key: string): Promise<string>;
  uploadPart(key: string, uploadId: string, data: Uint8Array, partNumber: number): Promise<PartTag>;
  completeMultipartUpload(key: string, uploadId: string, parts: PartTag[]): Promise<{ readonly etag?: string }>;
  abortMultipartUpload(key: string, uploadId: string): Promise<unknown>;
  deleteObject(key: string): Promise<boolean>;
}

export interface S3miniConfig {
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export type S3miniClass = new (config: S3miniConfig & { readonly fetch: typeof fetch }) => S3mini;

export interface PartTag {
  readonly partNumber: number;
  readonly etag: string;
}

/** What the service says about an object or a part. */
export interface Stored {
  readonly bytes: number;
  /** An MD5 digest, or that of several parts with their count; undefined if the service's tags are no digests. */
  readonly md5: string | undefined;
}

interface Client {
  readonly s3: S3mini;
  /** Of the current request. */
  signal: AbortSignal | undefined;
  response: Response | undefined;
}

/** Throws if it is not installed. */
export async function loadS3mini(owner: string): Promise<S3miniClass> {
  return (await optionalPackage<{ S3mini: S3miniClass }>(owner, "s3mini", ["s3mini@1"])).S3mini;
}

export class Bucket {
  readonly #S3mini: S3miniClass;
  readonly #config: S3miniConfig;
  readonly #transport: HttpClient;
  readonly #free: Client[] = [];

  constructor(S3mini: S3miniClass, config: S3miniConfig, transport: HttpClient) {
    this.#S3mini = S3mini;
    this.#config = config;
    this.#transport = transport;
  }

  /** `unknown` where the keys may write but not read: without the permission to list, missing objects are 403 as well. */
  async head(key: string, signal: AbortSignal): Promise<Stored | "absent" | "unknown"> {
    try {
      const { response } = await this.#call(signal, (s3) => s3.objectExists(key));
      return response.ok ? storedIn(response) : "absent";
    } catch (error) {
      if (error instanceof RefusedError && error.status === 403) return "unknown";
      throw error;
    }
  }

  async put(key: string, bytes: Uint8Array, type: string, signal: AbortSignal): Promise<Stored["md5"]> {
    const { response } = await this.#call(signal, (s3) => s3.putObject(key, bytes, type));
    return storedIn(response).md5;
  }

  async begin(key: string, signal: AbortSignal): Promise<string> {
    return (await this.#call(signal, (s3) => s3.getMultipartUploadId(key))).value;
  }

  async part(
    key: string,
    id: string,
    number: number,
    bytes: Uint8Array,
    signal: AbortSignal,
  ): Promise<{ readonly tag: PartTag; readonly md5: Stored["md5"] }> {
    const { value, response } = await this.#call(signal, (s3) => s3.uploadPart(key, id, bytes, number));
    return { tag: value, md5: storedIn(response).md5 };
  }

  async complete(key: string, id: string, parts: readonly PartTag[], signal: AbortSignal): Promise<Stored["md5"]> {
    const { value, response } = await this.#call(signal, (s3) => s3.completeMultipartUpload(key, id, [...parts]));
    // A service may fail while it answers: the status is 200 then, with an error in place of the tag.
    if (typeof value.etag !== "string") throw new SendError("it did not say that the parts were joined", true);
    return digestIn(value.etag, response.headers);
  }

  async abort(key: string, id: string, signal: AbortSignal): Promise<void> {
    await this.#call(signal, (s3) => s3.abortMultipartUpload(key, id));
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    await this.#call(signal, (s3) => s3.deleteObject(key));
  }

  /**
   * One request. Concurrent requests have clients of their own, so that each can be aborted and its response, with the
   * headers, identified. Clients are reused, since they keep the day's signing key, which is slow to derive.
   */
  async #call<T>(
    signal: AbortSignal,
    work: (s3: S3mini) => Promise<T>,
  ): Promise<{ readonly value: T; readonly response: Response }> {
    const client = this.#free.pop() ?? this.#newClient();
    client.signal = signal;
    client.response = undefined;
    try {
      return { value: await work(client.s3), response: client.response! };
    } catch (error) {
      throw asSendError(error, client.response);
    } finally {
      this.#free.push(client);
    }
  }

  #newClient(): Client {
    const send = async (url: unknown, init?: object): Promise<Response> =>
      (client.response = await this.#transport.send(String(url), init as HttpRequest, client.signal!));
    const client: Client = {
      s3: new this.#S3mini({ ...this.#config, fetch: send }),
      signal: undefined,
      response: undefined,
    };
    return client;
  }
}

/** The service refused the request. */
class RefusedError extends SendError {
  readonly status: number;

  constructor(status: number, code: string | undefined, retry: boolean, wait?: number) {
    super(
      `HTTP ${status}${code === undefined || code === "Unknown" ? "" : ` ${code}`}${HINTS[status] ?? ""}`,
      retry,
      wait,
    );
    this.status = status;
  }
}

const HINTS: Readonly<Record<number, string>> = {
  301: ": the bucket is elsewhere; check `endpoint` and `region`",
  307: ": the bucket is elsewhere; check `endpoint` and `region`",
  400: ": check `endpoint`, `bucket` and `region`",
  403: ": check the keys, and that they may read, write and delete under this prefix",
  404: ": check `endpoint` and `bucket`",
};

/** Only the error code of the response is passed on: its body may quote keys. */
function asSendError(error: unknown, response: Response | undefined): SendError {
  if (error instanceof SendError) return error;
  if (response === undefined) return new SendError("the request could not be made", false);
  const { status } = response;
  // The body was truncated, or is not this service's.
  if (response.ok) return new SendError("its answer could not be understood", true);
  const { code } = error as { code?: unknown };
  const word = typeof code === "string" && /^\w{1,60}$/.test(code) ? code : undefined;
  const slow = word === "RequestTimeout" || word === "SlowDown";
  const wait = retryAfterMs(response.headers.get("retry-after"));
  return new RefusedError(status, word, status >= 500 || status === 429 || status === 408 || slow, wait);
}

const storedIn = ({ headers }: Response): Stored => ({
  bytes: Number(headers.get("content-length") ?? Number.NaN),
  md5: digestIn(headers.get("etag") ?? "", headers),
});

function digestIn(tag: string, headers: Headers): Stored["md5"] {
  // With KMS or customer keys, a tag looks like a digest but is not one.
  const opaque =
    headers.get("x-amz-server-side-encryption")?.startsWith("aws:kms") === true ||
    headers.has("x-amz-server-side-encryption-customer-algorithm");
  const etag = tag.replaceAll('"', "").toLowerCase();
  return !opaque && /^[0-9a-f]{32}(-\d+)?$/.test(etag) ? etag : undefined;
}
