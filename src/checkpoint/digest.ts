// SHA-256 where there is no node:crypto: the browser computes it off the calling thread.
import { CheckpointError } from "../core/errors.ts";

export async function digestOf(data: Uint8Array | string): Promise<string> {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  const { subtle } = globalThis.crypto as { subtle?: SubtleCrypto };
  if (!subtle) {
    throw new CheckpointError("crypto.subtle", "it is missing", "Serve the page over https or from localhost.");
  }
  // Digests of shared memory are refused: it could change meanwhile.
  const own = bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : bytes.slice();
  const digest = new Uint8Array(await subtle.digest("SHA-256", own));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
