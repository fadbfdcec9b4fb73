// The manifest of a checkpoint that lies in no directory, as a directory would have it: for those who copy one to a disk.
import type { SavedCheckpoint } from "../../core/saved.ts";

export const MANIFEST = "manifest.json";

/** JSON has no NaN and no infinity, metrics do. */
const toJson = (value: number): number | string => (Number.isFinite(value) ? value : String(value));

/** The same text as the one on the disk; a test compares the two. */
export async function manifestText(saved: SavedCheckpoint): Promise<string> {
  const { name, step, epoch, reason, time, runId, parent, by, metrics, files } = saved;
  const body = {
    schema: 1,
    name,
    step,
    epoch,
    reason,
    time,
    runId,
    ...(parent !== undefined && { parent }),
    ...(by !== undefined && { by }),
    metrics: Object.fromEntries(Object.entries(metrics).map(([key, value]) => [key, toJson(value)])),
    files,
  };
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(body)));
  const digest = Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${JSON.stringify({ ...body, digest }, null, 2)}\n`;
}
