// A model's files at a URL. Each is downloaded once, as a Blob, which browsers keep on the disk if it is large.
import { CheckpointError } from "../../core/errors.ts";
import { type BlobLike, blobFolder } from "./blob-folder.ts";
import { LARGEST_TEXT, type ModelFiles } from "./model-files.ts";

/** How much of a file has been downloaded. */
export interface DownloadProgress {
  readonly file: string;
  /** Bytes. */
  readonly loaded: number;
  /** Bytes in all; undefined if the server does not say. */
  readonly total: number | undefined;
}

export type OnProgress = (progress: DownloadProgress) => void;

export function urlFolder(address: URL, onProgress?: OnProgress): ModelFiles {
  const folder = new URL(address);
  // Names of files are relative to the folder, not to what is beside it.
  if (!folder.pathname.endsWith("/")) folder.pathname += "/";
  const known = new Map<string, Promise<BlobLike | undefined>>();
  const path = folder.href.replace(/\/$/, "");
  const blob = (name: string): Promise<BlobLike | undefined> => {
    const found = known.get(name) ?? download(new URL(name, folder), name, onProgress);
    known.set(name, found);
    // The next read retries.
    found.catch(() => known.delete(name));
    return found;
  };
  return {
    ...blobFolder(path, async () => undefined, blob),
    has: async (name) => known.has(name) || (await respond(new URL(name, folder), "HEAD")) !== undefined,
  };
}

/** Undefined for a file that is not there. */
async function respond(address: URL, method: "GET" | "HEAD"): Promise<Response | undefined> {
  const response = await fetch(address, { method }).catch((cause: unknown) => {
    throw new CheckpointError(address.href, "it cannot be fetched", "Check the address and its CORS headers.", {
      cause,
    });
  });
  if (response.ok) return response;
  await response.body?.cancel();
  if (response.status === 404) return undefined;
  throw new CheckpointError(address.href, `the server answered ${response.status}`, "Check the address.");
}

async function download(address: URL, file: string, onProgress?: OnProgress): Promise<Blob | undefined> {
  const response = await respond(address, "GET");
  if (!response?.body) return undefined;
  const length = Number(response.headers.get("content-length") ?? NaN);
  // The length is that of the compressed bytes.
  const total = Number.isFinite(length) && !response.headers.has("content-encoding") ? length : undefined;
  const most = file.endsWith(".safetensors") ? Infinity : LARGEST_TEXT;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let loaded = 0;
  const reader = response.body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    chunks.push(next.value);
    loaded += next.value.length;
    onProgress?.({ file, loaded, total });
    if (loaded <= most) continue;
    await reader.cancel();
    throw new CheckpointError(address.href, `it has more than ${most} bytes`, "Is it the right file?");
  }
  if (total !== undefined && loaded !== total)
    throw new CheckpointError(address.href, `${loaded} of ${total} bytes came`, "Load the model again.");
  return new Blob(chunks);
}
