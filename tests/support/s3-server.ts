// A bucket on 127.0.0.1 that checks signatures and behaves badly on demand: for tests of what uploads to S3.
import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { signatureProblem } from "./sigv4.ts";

/** What went wrong with a request, if anything. */
export type Fault =
  /** Answers with this status. */
  | { readonly status: number; readonly code?: string; readonly retryAfter?: number }
  /** `reset` cuts the line in the middle of the body; `hang` never answers. */
  | "reset"
  | "hang"
  /** Answers with a tag that is not that of the body. */
  | "wrongEtag"
  /** Keeps only half of the body, and says so in its tag. */
  | "truncate"
  /** Cuts its own answer short. */
  | "shortAnswer"
  /** Status 200, and an error in the body, as S3 does when it finds out too late. */
  | "errorIn200";

type Operation = "put" | "begin" | "part" | "complete" | "abort" | "head" | "get" | "list" | "delete";

export interface S3Call {
  readonly operation: Operation;
  readonly key: string;
  readonly part: number;
  /** How often this very thing has been asked for, from 1. */
  readonly attempt: number;
}

export interface S3Server {
  readonly url: string;
  readonly options: {
    readonly endpoint: string;
    readonly bucket: string;
    readonly region: string;
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly allowHttp: true;
    readonly allowPrivate: true;
  };
  readonly objects: ReadonlyMap<string, Uint8Array>;
  /** Multipart uploads that are neither joined nor aborted. */
  readonly open: ReadonlyMap<string, unknown>;
  readonly calls: readonly S3Call[];
  /** Requests that were refused for their signature, with the reason. */
  readonly unsigned: readonly string[];
  /** Asked before anything is done. */
  fault: (call: S3Call) => Fault | undefined;
  /** Bytes a second that are taken from all connections together. */
  bytesPerSecond: number;
  /** Adds what buckets with keys of a key service add: their tags are no digests. */
  kms: boolean;
  connections(): Promise<number>;
  unref(): void;
  close(): Promise<void>;
}

interface Upload {
  readonly key: string;
  readonly parts: Map<number, Uint8Array>;
}

const BUCKET = "checkpoints";
const md5 = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("hex");
const xml = (text: string): string => `<?xml version="1.0" encoding="UTF-8"?>\n${text}`;

export async function s3Server(): Promise<S3Server> {
  const credentials = {
    accessKeyId: "AKIATESTTESTTESTTEST",
    secretAccessKey: "s3cr3t/KEY+of=the-tests",
    region: "eu-test-1",
  };
  const objects = new Map<string, Uint8Array>();
  const tags = new Map<string, string>();
  const uploads = new Map<string, Upload>();
  const calls: S3Call[] = [];
  const unsigned: string[] = [];
  /** When the line is free for the next bytes. */
  let freeAt = 0;

  async function readBody(request: IncomingMessage, fault: Fault | undefined): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (fault === "reset" && size > Number(request.headers["content-length"]) / 2) request.socket.resetAndDestroy();
      if (server.bytesPerSecond === Infinity) continue;
      freeAt = Math.max(freeAt, performance.now()) + (1000 * chunk.byteLength) / server.bytesPerSecond;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, freeAt - performance.now())));
    }
    return Buffer.concat(chunks);
  }

  function store(key: string, bytes: Uint8Array, tag: string): void {
    objects.set(key, bytes);
    tags.set(key, server.kms ? randomUUID().replaceAll("-", "") : tag);
  }

  function answer(
    response: ServerResponse,
    status: number,
    headers: Record<string, string | number> = {},
    body = "",
  ): void {
    const kms = server.kms ? { "x-amz-server-side-encryption": "aws:kms" } : {};
    const type = body === "" ? {} : { "content-type": "application/xml" };
    const length = "content-length" in headers ? {} : { "content-length": Buffer.byteLength(body) };
    response.writeHead(status, { ...kms, ...type, ...length, ...headers });
    response.end(body);
  }

  function refuse(response: ServerResponse, status: number, code: string, retryAfter?: number): void {
    // As S3 does: the answer quotes what it was given.
    const quoted = `<AWSAccessKeyId>${credentials.accessKeyId}</AWSAccessKeyId>`;
    const headers: Record<string, number> = retryAfter === undefined ? {} : { "retry-after": retryAfter };
    answer(response, status, headers, xml(`<Error><Code>${code}</Code><Message>no</Message>${quoted}</Error>`));
  }

  function perform(
    call: S3Call,
    query: URLSearchParams,
    body: Buffer,
    fault: Fault | undefined,
    response: ServerResponse,
  ): void {
    const { operation, key, part } = call;
    const kept = fault === "truncate" ? body.subarray(0, body.byteLength / 2) : body;
    const etag = fault === "wrongEtag" ? md5(Buffer.from("something else")) : md5(kept);
    const id = query.get("uploadId") ?? "";
    const upload = uploads.get(id);
    if (["part", "complete", "abort"].includes(operation) && upload?.key !== key) {
      return refuse(response, 404, "NoSuchUpload");
    }
    switch (operation) {
      case "put":
        store(key, kept, md5(kept));
        return answer(response, 200, { etag: `"${server.kms ? tags.get(key)! : etag}"` });
      case "begin": {
        const fresh = randomUUID();
        uploads.set(fresh, { key, parts: new Map() });
        const text = `<InitiateMultipartUploadResult><Bucket>${BUCKET}</Bucket><Key>${key}</Key><UploadId>${fresh}</UploadId></InitiateMultipartUploadResult>`;
        return answer(response, 200, {}, xml(text));
      }
      case "part":
        upload!.parts.set(part, kept);
        return answer(response, 200, { etag: `"${etag}"` });
      case "complete":
        return complete(key, id, upload!, body.toString(), fault, response);
      case "abort":
        uploads.delete(id);
        return answer(response, 204);
      case "delete":
        objects.delete(key);
        return answer(response, 204);
      case "list": {
        const prefix = query.get("prefix") ?? "";
        const rows = [...objects]
          .filter(([name]) => name.startsWith(prefix))
          .map(
            ([name, { byteLength }]) =>
              `<Contents><Key>${name}</Key><Size>${byteLength}</Size><ETag>"${tags.get(name)}"</ETag></Contents>`,
          );
        return answer(response, 200, {}, xml(`<ListBucketResult>${rows.join("")}</ListBucketResult>`));
      }
      default: {
        const found = objects.get(key);
        if (!found) return operation === "head" ? answer(response, 404) : refuse(response, 404, "NoSuchKey");
        response.writeHead(200, {
          etag: `"${tags.get(key)!}"`,
          "content-length": found.byteLength,
          ...(server.kms && { "x-amz-server-side-encryption": "aws:kms" }),
        });
        response.end(operation === "get" ? found : undefined);
      }
    }
  }

  function complete(
    key: string,
    id: string,
    upload: Upload,
    list: string,
    fault: Fault | undefined,
    response: ServerResponse,
  ): void {
    const wanted = [...list.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]*)<\/ETag>/g)];
    const parts = wanted.map(([, number]) => upload.parts.get(Number(number)));
    const tagged = wanted.every(([, , tag], i) => parts[i] !== undefined && (tag === md5(parts[i]) || server.kms));
    if (parts.length === 0 || !tagged) return refuse(response, 400, "InvalidPart");
    if (parts.slice(0, -1).some((part) => part!.byteLength < 5 << 20)) return refuse(response, 400, "EntityTooSmall");
    if (fault === "errorIn200") {
      return answer(response, 200, {}, xml("<Error><Code>InternalError</Code><Message>no</Message></Error>"));
    }
    const digests = Buffer.concat(parts.map((part) => Buffer.from(md5(part!), "hex")));
    store(key, Buffer.concat(parts as Uint8Array[]), `${md5(digests)}-${parts.length}`);
    uploads.delete(id);
    const text = xml(
      `<CompleteMultipartUploadResult><Key>${key}</Key><ETag>&quot;${tags.get(key)!}&quot;</ETag></CompleteMultipartUploadResult>`,
    );
    if (fault !== "shortAnswer") return answer(response, 200, {}, text);
    response.writeHead(200, { "content-length": text.length });
    response.write(text.slice(0, 60), () => response.socket?.destroy());
  }

  const http = createServer((request, response) => {
    void (async () => {
      const { method = "", url = "", headers } = request;
      const { pathname, searchParams } = new URL(url, "http://x");
      const key = decodeURIComponent(pathname).split("/").slice(2).join("/");
      const operation = operationOf(method, key, searchParams);
      const part = Number(searchParams.get("partNumber") ?? 0);
      const attempt =
        1 + calls.filter((call) => call.operation === operation && call.key === key && call.part === part).length;
      const call = { operation, key, part, attempt };
      calls.push(call);
      const fault = server.fault(call);
      const body = await readBody(request, fault);
      if (fault === "hang" || fault === "reset") return;
      const problem = signatureProblem({ method, target: url, headers, body }, credentials);
      if (problem !== undefined) unsigned.push(`${method} ${key}: ${problem}`);
      if (problem !== undefined) refuse(response, 403, problem);
      else if (typeof fault === "object")
        refuse(response, fault.status, fault.code ?? "InternalError", fault.retryAfter);
      else perform(call, searchParams, body, fault, response);
    })().catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => void http.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const server: S3Server = {
    url,
    options: { endpoint: url, bucket: BUCKET, ...credentials, allowHttp: true, allowPrivate: true },
    objects,
    open: uploads,
    calls,
    unsigned,
    fault: () => undefined,
    bytesPerSecond: Infinity,
    kms: false,
    connections: () => new Promise((resolve) => http.getConnections((_error, count) => resolve(count))),
    unref: () => void http.unref(),
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  return server;
}

function operationOf(method: string, key: string, query: URLSearchParams): Operation {
  if (method === "PUT") return query.has("partNumber") ? "part" : "put";
  if (method === "POST") return query.has("uploads") ? "begin" : "complete";
  if (method === "DELETE") return query.has("uploadId") ? "abort" : "delete";
  if (method === "HEAD") return "head";
  return key === "" ? "list" : "get";
}
