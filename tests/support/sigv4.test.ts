// The examples of the description itself: a server that accepts anything would prove nothing.
import { expect, it } from "vitest";
import { signatureProblem } from "./sigv4.ts";

const credentials = {
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  region: "us-east-1",
};
const NOW = Date.UTC(2013, 4, 24);
const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const request = (target: string, signature: string, more: Record<string, string> = {}) => {
  const headers = {
    host: "examplebucket.s3.amazonaws.com",
    "x-amz-content-sha256": EMPTY,
    "x-amz-date": "20130524T000000Z",
    ...more,
  };
  const names = Object.keys(headers).sort().join(";");
  const authorization = `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/20130524/us-east-1/s3/aws4_request,SignedHeaders=${names},Signature=${signature}`;
  return { method: "GET", target, headers: { ...headers, authorization }, body: new Uint8Array() };
};

const OBJECT = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";

it.each([
  ["an object, with a range", request("/test.txt", OBJECT, { range: "bytes=0-9" })],
  [
    "a query without a value",
    request("/?lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
  ],
  ["a query", request("/?max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")],
])("accepts %s", (_what, signed) => {
  expect(signatureProblem(signed, credentials, NOW)).toBeUndefined();
});

const good = request("/test.txt", OBJECT, { range: "bytes=0-9" });

it.each([
  ["another path", { ...good, target: "/test.tx" }, credentials, NOW, "SignatureDoesNotMatch"],
  ["another method", { ...good, method: "PUT" }, credentials, NOW, "SignatureDoesNotMatch"],
  [
    "another header",
    { ...good, headers: { ...good.headers, range: "bytes=0-8" } },
    credentials,
    NOW,
    "SignatureDoesNotMatch",
  ],
  [
    "a header that is not signed",
    { ...good, headers: { ...good.headers, "x-amz-acl": "public" } },
    credentials,
    NOW,
    "AccessDenied",
  ],
  ["another body", { ...good, body: new Uint8Array(1) }, credentials, NOW, "XAmzContentSHA256Mismatch"],
  ["another secret", good, { ...credentials, secretAccessKey: "x" }, NOW, "SignatureDoesNotMatch"],
  ["another key", good, { ...credentials, accessKeyId: "x" }, NOW, "InvalidAccessKeyId"],
  ["another region", good, { ...credentials, region: "x" }, NOW, "AuthorizationHeaderMalformed"],
  ["another time", good, credentials, NOW + 16 * 60_000, "RequestTimeTooSkewed"],
  ["no signature", { ...good, headers: {} }, credentials, NOW, "AccessDenied"],
])("refuses %s", (_what, signed, keys, now, problem) => {
  expect(signatureProblem(signed, keys, now)).toBe(problem);
});
