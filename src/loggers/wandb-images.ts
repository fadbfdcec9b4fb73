// Images as W&B keeps them: files of the run, to which a line of history points.
import type { Json } from "../core/json.ts";
import { builtin } from "../platform/builtin.ts";
import type { ImageLine, LoggedLine } from "./lib/record-lines.ts";
import { isImage } from "./wandb-lines.ts";

type Crypto = ReturnType<typeof process.getBuiltinModule<"node:crypto">>;
type Buffers = ReturnType<typeof process.getBuiltinModule<"node:buffer">>;

export interface ImageFile {
  /** Under the run's files. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** What history says of it. */
  readonly json: Json;
}

/** The images of a line, by the names they were logged under. */
export function imagesOf({ media = {}, step }: LoggedLine, takes = (_name: string) => true): Map<string, ImageFile> {
  const found = Object.entries(media as Readonly<Record<string, unknown>>).flatMap(([name, item]) =>
    isImage(item) && takes(name) ? [[name, imageFile(name, step, item)] as const] : [],
  );
  return new Map(found);
}

function imageFile(name: string, step: number, { width, height, png }: ImageLine): ImageFile {
  const bytes = builtin<Buffers>("wandb", "node:buffer").Buffer.from(png, "base64");
  const sha256 = builtin<Crypto>("wandb", "node:crypto").createHash("sha256").update(bytes).digest("hex");
  // Names are the user's: one of them must not lead out of the folder.
  const safe = name.replace(/[^\w.-]+/g, "_").slice(0, 100);
  const path = `media/images/${safe}_${step}_${sha256.slice(0, 20)}.png`;
  const json = { _type: "image-file", path, sha256, size: bytes.byteLength, format: "png", width, height };
  return { path, bytes, json };
}
