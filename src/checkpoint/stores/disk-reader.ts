// Reads a directory of checkpoints. A folder with a valid manifest is a checkpoint, whatever its name; other folders are
// reported as bad.
import { CheckpointError } from "../../core/errors.ts";
import { codeOf, damaged, guarded, problem } from "../../platform/file-errors.ts";
import {
  checkWhole,
  exists,
  isDirectory,
  linkAt,
  readWhole,
  sha256Of,
  sizeOf,
  wrongSize,
  type DiskFs,
} from "../../platform/durable-files.ts";
import {
  asSkipped,
  nameOf,
  newerVersion,
  inLoadOrder,
  nothingLoaded,
  visible,
  wantedFiles,
  type Found,
  type Opened,
  type Valid,
} from "./scan.ts";
import { LARGEST_MANIFEST, MANIFEST, parseManifest } from "../manifest.ts";
import type { FileEntry, LoadedCheckpoint, LoadOptions, SavedCheckpoint } from "../store.ts";

/** Prefixes of directories that are no checkpoints: unfinished, or half-deleted. */
export const TEMP = ".tmp-";
export const TRASH = ".trash-";
/** Prefix of one that is being replaced: valid until its successor is durable, so readers use it too. */
export const ASIDE = ".old-";

/** Reads a file of a checkpoint; throws if it is damaged. */
type ReadFile<T> = (path: string, entry: FileEntry) => T;

export class DiskReader {
  readonly #fs: DiskFs;
  readonly #root: string;
  readonly #digests: boolean;

  constructor(fs: DiskFs, root: string, digests: boolean) {
    this.#fs = fs;
    this.#root = root;
    this.#digests = digests;
  }

  list(): SavedCheckpoint[] {
    const isIntact = (found: Found): found is Valid => found.kind === "valid" && this.#badSize(found) === undefined;
    return visible(this.#scan().filter(isIntact), saved);
  }

  load({ name, files }: LoadOptions = {}): LoadedCheckpoint {
    return this.#firstIntact(name, files, (path, { bytes, sha256 }) =>
      readWhole(this.#fs, path, bytes, this.#digests ? sha256 : undefined),
    );
  }

  read(name: string, file: string): Uint8Array {
    return this.load({ name, files: [file] }).files[file]!;
  }

  /** Compares digests even if `load` compares only sizes. */
  verify(name: string, files?: readonly string[]): void {
    this.#firstIntact(name, files, (path, entry) => this.#check(path, entry));
  }

  /** Whether this folder holds an intact checkpoint, or one of a newer version, which cannot be judged. */
  isIntact(folder: string): boolean {
    const found = this.look(folder);
    if (found.kind === "newer") return true;
    const check: ReadFile<void> = (path, entry) => (this.#digests ? this.#check(path, entry) : undefined);
    return !(this.#tryOpen(found, undefined, check) instanceof CheckpointError);
  }

  #firstIntact<T>(
    name: string | undefined,
    files: readonly string[] | undefined,
    read: ReadFile<T>,
  ): Opened<T> & Pick<LoadedCheckpoint, "skipped"> {
    const all = inLoadOrder(this.#scan());
    const candidates = name === undefined ? all : all.filter((found) => nameOf(found) === name);
    const problems: CheckpointError[] = [];
    for (const found of candidates) {
      const opened = this.#tryOpen(found, files, read);
      if (!(opened instanceof CheckpointError)) {
        return { ...opened, skipped: problems.map((error, i) => asSkipped(candidates[i]!, error)) };
      }
      problems.push(opened);
    }
    throw nothingLoaded(this.#root, name, problems, all);
  }

  /** Reads the manifest in a folder. */
  look(folder: string): Found {
    const dir = `${this.#root}/${folder}`;
    const path = `${dir}/${MANIFEST}`;
    const place = { folder, dir, replaced: folder.startsWith(ASIDE), step: Infinity };
    const bad = (error: unknown): Found => ({ ...place, kind: "bad", error: problem(path, error) });
    try {
      const size = sizeOf(this.#fs, path);
      if (size === undefined) return bad(damaged(path, "it is missing"));
      if (size > LARGEST_MANIFEST) return bad(damaged(path, `it has ${size} bytes, too many for a manifest`));
      const text = parseManifest(new TextDecoder().decode(readWhole(this.#fs, path, size)));
      if (text.kind === "newer") return { ...place, ...text };
      if (text.kind === "bad") return bad(damaged(path, text.reason));
      if (sha256Of(text.body) !== text.digest) return bad(damaged(path, "its digest does not fit its contents"));
      return { ...place, kind: "valid", manifest: text.manifest, step: text.manifest.step };
    } catch (error) {
      return bad(error);
    }
  }

  /** All entries of the directory; none if it does not exist yet. */
  folders(): string[] {
    try {
      return this.#fs.readdirSync(this.#root);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return [];
      throw problem(this.#root, error);
    }
  }

  #scan(): Found[] {
    return this.folders()
      .filter((folder) => !folder.startsWith(".") || folder.startsWith(ASIDE))
      .flatMap((folder) => {
        const path = `${this.#root}/${folder}`;
        if (isDirectory(this.#fs, path)) return [this.look(folder)];
        return this.#leadsAway(path) ? [this.#linked(folder, path)] : [];
      });
  }

  /** Whether this is a link to another directory. A link to a checkpoint beside it is only a second name. */
  #leadsAway(path: string): boolean {
    if (!exists(this.#fs, path)) return false;
    const target = linkAt(this.#fs, path);
    if (target === undefined) return false;
    const own = target.startsWith(`${this.#root}/`) ? target.slice(this.#root.length + 1) : target;
    return own.includes("/") || !exists(this.#fs, `${this.#root}/${own}`);
  }

  /** Links are not followed, since they may lead anywhere. They are reported, so that a moved checkpoint is not overlooked. */
  #linked(folder: string, path: string): Found {
    const error = new CheckpointError(
      path,
      "it is a link, and links to other places are not followed",
      "Move the checkpoint back in place of the link, or remove the link.",
    );
    return { kind: "bad", folder, dir: path, replaced: folder.startsWith(ASIDE), step: Infinity, error };
  }

  #badSize({ dir, manifest }: Valid): CheckpointError | undefined {
    for (const [file, { bytes }] of Object.entries(manifest.files)) {
      const path = `${dir}/${file}`;
      const size = guarded(path, () => sizeOf(this.#fs, path));
      if (size === undefined) return damaged(path, "it is missing");
      if (size !== bytes) return wrongSize(path, size, bytes);
    }
    return undefined;
  }

  /** The files of a checkpoint, or the error if it is damaged. */
  #tryOpen<T>(found: Found, only: readonly string[] | undefined, read: ReadFile<T>): Opened<T> | CheckpointError {
    if (found.kind === "bad") return found.error;
    if (found.kind === "newer") throw newerVersion(found.dir, found.schema);
    const wanted = wantedFiles(found, only);
    try {
      const wrong = this.#badSize(found);
      if (wrong) return wrong;
      const files = wanted.map((file) => [file, read(`${found.dir}/${file}`, found.manifest.files[file]!)] as const);
      return { checkpoint: saved(found), files: Object.fromEntries(files) };
    } catch (error) {
      return problem(found.dir, error);
    }
  }

  #check(path: string, { bytes, sha256 }: FileEntry): void {
    checkWhole(this.#fs, path, bytes, sha256);
  }
}

const saved = ({ manifest, dir }: Valid): SavedCheckpoint => ({ ...manifest, dir });
