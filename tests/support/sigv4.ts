// AWS Signature Version 4 as its public description has it, for a server that checks what a client has signed.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

export interface SignedRequest {
  readonly method: string;
  /** As it stands in the request line: `/bucket/a%20b?x=1`. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
}

const hmac = (key: string | Uint8Array, text: string): Buffer => createHmac("sha256", key).update(text).digest();
const sha256 = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex");

/** UriEncode() of the description: all bytes but the unreserved ones. */
const encode = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte) => {
      const char = String.fromCodePoint(byte);
      return /[A-Za-z0-9\-._~]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("");

const order = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

function canonicalQuery(query: string): string {
  if (query === "") return "";
  return query
    .split("&")
    .map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return [encode(decodeURIComponent(name)), encode(decodeURIComponent(value.join("=")))] as const;
    })
    .sort(([a, x], [b, y]) => order(a, b) || order(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

/** What is wrong with the request's signature, as an S3 error code; undefined when nothing is. */
export function signatureProblem(
  request: SignedRequest,
  { accessKeyId, secretAccessKey, region }: Credentials,
  now = Date.now(),
): string | undefined {
  const { method, target, headers, body } = request;
  const authorization = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
    headers.authorization ?? "",
  );
  if (!authorization) return "AccessDenied";
  const [, credential, signedNames, signature] = authorization as unknown as [string, string, string, string];
  const [key, date, ...scope] = credential.split("/");
  if (key !== accessKeyId) return "InvalidAccessKeyId";
  const time = String(headers["x-amz-date"]);
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time);
  if (!parts || time.slice(0, 8) !== date || scope.join("/") !== `${region}/s3/aws4_request`) {
    return "AuthorizationHeaderMalformed";
  }
  const [year, month, day, hour, minute, second] = parts.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (Math.abs(Date.UTC(year, month - 1, day, hour, minute, second) - now) > 15 * 60_000) return "RequestTimeTooSkewed";

  const names = signedNames.split(";");
  const must = Object.keys(headers).filter((name) => name === "host" || name.startsWith("x-amz-"));
  if (must.some((name) => !names.includes(name)) || names.join() !== names.toSorted(order).join())
    return "AccessDenied";
  const payload = String(headers["x-amz-content-sha256"]);
  if (payload !== "UNSIGNED-PAYLOAD" && payload !== sha256(body)) return "XAmzContentSHA256Mismatch";

  const [path = "", query = ""] = target.split("?", 2);
  const canonicalPath = path
    .split("/")
    .map((part) => encode(decodeURIComponent(part)))
    .join("/");
  const canonicalHeaders = names
    .map((name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, " ")}\n`)
    .join("");
  const canonical = [method, canonicalPath, canonicalQuery(query), canonicalHeaders, names.join(";"), payload].join(
    "\n",
  );
  const toSign = ["AWS4-HMAC-SHA256", time, [date, ...scope].join("/"), sha256(canonical)].join("\n");
  const signingKey = [date, region, "s3", "aws4_request"].reduce<string | Buffer>(
    (secret, text) => hmac(secret, text),
    `AWS4${secretAccessKey}`,
  );
  const expected = hmac(signingKey, toSign);
  return timingSafeEqual(expected, Buffer.from(signature, "hex")) ? undefined : "SignatureDoesNotMatch";
}
