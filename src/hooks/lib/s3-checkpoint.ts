// One checkpoint to a bucket. Loaded with the first upload: a page that uploads nothing does not carry it.
import type { Checkpoints, SavedCheckpoint } from "../../core/saving.ts";
import { openCheckpoint } from "./checkpoint-source.ts";
import { Bucket, loadS3mini } from "./s3-bucket.ts";
import { Sender } from "./s3-send.ts";
import type { S3Target } from "./s3-target.ts";
import { Transport } from "../../net/transport.ts";

const OWNER = "s3Upload";
/** Before the second attempt. */
const BACKOFF_MS = 500;

export interface SendHow {
  readonly partSize: number;
  readonly concurrency: number;
  readonly retries: number;
  /** Milliseconds without progress after which a request is given up. */
  readonly timeout: number;
  readonly signal: AbortSignal;
}

/** Sends what is not there yet, and resolves to the bytes that went out. */
export async function sendCheckpoint(
  saved: SavedCheckpoint,
  checkpoints: Checkpoints,
  target: S3Target,
  { timeout, ...how }: SendHow,
): Promise<number> {
  const source = await openCheckpoint(saved, checkpoints);
  let transport: Transport | undefined;
  try {
    const config = { endpoint: target.url.href, region: target.region, ...target.keys(OWNER) };
    const S3mini = await loadS3mini(OWNER);
    const { url, allowPrivate } = target;
    transport = new Transport(OWNER, { url, allowPrivate, timeout, sockets: how.concurrency });
    const bucket = new Bucket(S3mini, config, transport);
    const keyOf = (file: string): string => target.keyOf(saved.runId, saved.name, file);
    return await new Sender({ ...how, owner: OWNER, backoff: BACKOFF_MS, bucket, keyOf }).send(source);
  } finally {
    transport?.close();
    await source.close();
  }
}
