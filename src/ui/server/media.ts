// Images that a run has logged, as files of its directory.
import { constants, lstatSync } from "node:fs";
import { open } from "node:fs/promises";
import { MEDIA } from "../../runs/layout.ts";
import { type Answer, bytes, gone } from "./answer.ts";
import type { MediaPlace } from "./curves/media-list.ts";

const MOST_BYTES = 64 * 1024 * 1024;
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** A log may say anything: only plain PNG files directly in `media/` are sent, and a browser may not run them as a page. */
export async function imageOf(dir: string, place: MediaPlace | undefined): Promise<Answer> {
  const name = place?.kind === "image" ? /^media\/([\w.-]+\.png)$/.exec(place.file)?.[1] : undefined;
  const folder = `${dir}/${MEDIA}`;
  if (name === undefined || !lstatSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw gone("such image");
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(`${folder}/${name}`, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => {
    throw gone("such image");
  });
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size > MOST_BYTES) throw gone("such image");
    const content = await file.readFile();
    if (!PNG.every((byte, i) => content[i] === byte)) throw gone("such image");
    return bytes(content, "image/png", { "content-security-policy": "default-src 'none'; sandbox" });
  } finally {
    await file.close();
  }
}
