// The images of a run as PNG files, in `media/` of its directory.
import { codeOf, logProblem } from "../platform/file-errors.ts";
import type { ImageMedia } from "../core/media.ts";
import { crc32 } from "../platform/crc.ts";
import { moveDirectoryAside, type Fs } from "../runs/files.ts";
import { MEDIA } from "../runs/layout.ts";
import { HooklineError } from "../core/errors.ts";
import { encodePngNow } from "./png.ts";

/** The oldest files are removed beyond this many bytes. */
const MOST_BYTES = 256 * 1024 * 1024;
const LONGEST_NAME = 80;

interface Kept {
  readonly name: string;
  readonly bytes: number;
}

export class MediaFiles {
  readonly #fs: Fs;
  readonly #dir: string;
  readonly #most: number;
  /** Oldest first; read from the directory before the first image is written. */
  #kept: Kept[] | undefined;

  /** @param dir the run's directory */
  constructor(fs: Fs, dir: string, most: number = MOST_BYTES) {
    this.#fs = fs;
    this.#dir = dir;
    this.#most = most;
  }

  /** A new run must not mix its images with those of an older one. */
  setAside(): void {
    const path = `${this.#dir}/${MEDIA}`;
    if (this.#fs.lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) moveDirectoryAside(path);
  }

  /** Writes an image; returns its path from the run's directory. */
  write(step: number, name: string, image: ImageMedia): string {
    const file = fileName(step, name);
    const path = `${this.#dir}/${MEDIA}/${file}`;
    try {
      const kept = (this.#kept ??= this.#open());
      const png = encodePngNow(image);
      // Of an earlier part of the run, or a link, which may lead anywhere.
      this.#fs.rmSync(path, { force: true });
      this.#fs.writeFileSync(path, png, { flag: "wx" });
      const before = kept.findIndex((each) => each.name === file);
      if (before >= 0) kept.splice(before, 1);
      kept.push({ name: file, bytes: png.length });
      this.#removeOldest(kept);
    } catch (error) {
      throw error instanceof HooklineError ? error : logProblem(path, error);
    }
    return `${MEDIA}/${file}`;
  }

  #open(): Kept[] {
    const fs = this.#fs;
    const dir = `${this.#dir}/${MEDIA}`;
    fs.mkdirSync(dir, { recursive: true });
    if (!fs.lstatSync(dir).isDirectory())
      throw new HooklineError(`${dir}: it is a link, which may lead anywhere. Remove it.`);
    return fs
      .readdirSync(dir)
      .flatMap((name) => {
        const found = fs.lstatSync(`${dir}/${name}`, { throwIfNoEntry: false });
        return found?.isFile() && name.endsWith(".png") ? [{ name, bytes: found.size, time: found.mtimeMs }] : [];
      })
      .sort((a, b) => a.time - b.time);
  }

  #removeOldest(kept: Kept[]): void {
    let bytes = kept.reduce((sum, each) => sum + each.bytes, 0);
    while (bytes > this.#most && kept.length > 1) {
      const oldest = kept.shift()!;
      bytes -= oldest.bytes;
      try {
        this.#fs.unlinkSync(`${this.#dir}/${MEDIA}/${oldest.name}`);
      } catch (error) {
        if (codeOf(error) !== "ENOENT") throw error;
      }
    }
  }
}

/** Names differ where metrics do, also if characters had to be replaced. */
function fileName(step: number, name: string): string {
  const safe = name.replaceAll(/[^\w.-]/g, "_").slice(0, LONGEST_NAME);
  const mark = safe === name ? "" : `-${crc32(new TextEncoder().encode(name)).toString(16).padStart(8, "0")}`;
  return `${step}-${safe}${mark}.png`;
}
