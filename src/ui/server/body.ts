// The body of a POST: JSON of a limited size.
import type { IncomingMessage } from "node:http";
import { badRequest, Refusal } from "./answer.ts";

const MOST_BYTES = 64 * 1024;

/** Stops keeping what arrives as soon as the limit is passed: a length that the client states is not trusted. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Refusal(413, "too-large", `A body has at most ${MOST_BYTES} bytes.`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks))) as unknown;
  } catch {
    throw badRequest("The body is not valid JSON.");
  }
}
