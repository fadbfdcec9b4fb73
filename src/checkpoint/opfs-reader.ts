// Reading checkpoints from the browser's own file system: the counterpart of the disk's reader, where every call is a promise.
import { CheckpointError } from "../core/errors.ts";
import { digestOf } from "./digest.ts";
import {
  type Found,
  type Opened,
  type Valid,
  asSkipped,
  inLoadOrder,
  nameOf,
  newerVersion,
  nothingLoaded,
  visible,
  wantedFiles,
} from "./found.ts";
import { LARGEST_MANIFEST, MANIFEST, MANIFEST_END, parseManifest } from "./manifest.ts";
import { fileSize, readFile } from "./opfs-files.ts";
import { damaged, problem } from "../platform/file-errors.ts";
import type { LoadedCheckpoint, LoadOptions, SavedCheckpoint } from "./store.ts";

export class OpfsReader {
  readonly #root: FileSystemDirectoryHandle;
  readonly #path: string;

  constructor(root: FileSystemDirectoryHandle, path: string) {
    this.#root = root;
    this.#path = path;
  }

  async list(): Promise<SavedCheckpoint[]> {
    const intact: Valid[] = [];
    for (const found of await this.scan()) {
      if (found.kind === "valid" && !(await this.#badSize(found))) intact.push(found);
    }
    return visible(intact, saved);
  }

  async load({ name, files }: LoadOptions = {}): Promise<LoadedCheckpoint> {
    return this.#firstIntact(name, files, (bytes) => bytes);
  }

  async verify(name: string, files?: readonly string[]): Promise<void> {
    await this.#firstIntact(name, files, () => undefined);
  }

  /** `keep` says what is kept of a file that is whole: reading one through needs no room for the others. */
  async #firstIntact<T>(
    name: string | undefined,
    files: readonly string[] | undefined,
    keep: (bytes: Uint8Array) => T,
  ): Promise<Opened<T> & Pick<LoadedCheckpoint, "skipped">> {
    const all = inLoadOrder(await this.scan());
    const candidates = name === undefined ? all : all.filter((found) => nameOf(found) === name);
    const problems: CheckpointError[] = [];
    for (const found of candidates) {
      const opened = await this.#tryOpen(found, files, keep);
      if (!(opened instanceof CheckpointError)) {
        return { ...opened, skipped: problems.map((error, i) => asSkipped(candidates[i]!, error)) };
      }
      problems.push(opened);
    }
    throw nothingLoaded(this.#path, name, problems, all);
  }

  /** Every folder that has a manifest: what has none was never committed, and is no damage. */
  async scan(): Promise<Found[]> {
    const folders: string[] = [];
    for await (const [folder, { kind }] of this.#root.entries()) if (kind === "directory") folders.push(folder);
    const found: Found[] = [];
    for (const folder of folders) {
      const each = await this.#look(folder);
      if (each) found.push(each);
    }
    // Folders of one name sort by the time of their save, and the last one counts.
    const last = new Map(found.toSorted((a, b) => (a.folder < b.folder ? -1 : 1)).map((each) => [nameOf(each), each]));
    return found.map((each) => ({ ...each, replaced: last.get(nameOf(each)) !== each }));
  }

  async #look(folder: string): Promise<Found | undefined> {
    const dir = `${this.#path}/${folder}`;
    const path = `${dir}/${MANIFEST}`;
    const place = { folder, dir, replaced: false, step: Infinity };
    const bad = (error: unknown): Found => ({ ...place, kind: "bad", error: problem(path, error) });
    try {
      const handle = await this.#root.getDirectoryHandle(folder);
      const size = await fileSize(handle, MANIFEST);
      // The file is made before its contents arrive.
      if (size === undefined || size === 0) return undefined;
      if (size > LARGEST_MANIFEST) return bad(damaged(path, `it has ${size} bytes, too many for a manifest`));
      const raw = new TextDecoder().decode(await readFile(handle, MANIFEST, path));
      // Without its end it is a save that was cut off, not a checkpoint that was damaged.
      if (!raw.endsWith(MANIFEST_END)) return undefined;
      const text = parseManifest(raw);
      if (text.kind === "newer") return { ...place, ...text };
      if (text.kind === "bad") return bad(damaged(path, text.reason));
      if ((await digestOf(text.body)) !== text.digest)
        return bad(damaged(path, "its digest does not fit its contents"));
      return { ...place, kind: "valid", manifest: text.manifest, step: text.manifest.step };
    } catch (error) {
      return bad(error);
    }
  }

  async #badSize({ dir, folder, manifest }: Valid): Promise<CheckpointError | undefined> {
    const handle = await this.#root.getDirectoryHandle(folder);
    for (const [file, { bytes }] of Object.entries(manifest.files)) {
      const size = await fileSize(handle, file);
      if (size === undefined) return damaged(`${dir}/${file}`, "it is missing");
      if (size !== bytes) return damaged(`${dir}/${file}`, `it has ${size} bytes instead of ${bytes}`);
    }
    return undefined;
  }

  async #tryOpen<T>(
    found: Found,
    only: readonly string[] | undefined,
    keep: (bytes: Uint8Array) => T,
  ): Promise<Opened<T> | CheckpointError> {
    if (found.kind === "bad") return found.error;
    if (found.kind === "newer") throw newerVersion(found.dir, found.schema);
    const wanted = wantedFiles(found, only);
    try {
      const wrong = await this.#badSize(found);
      if (wrong) return wrong;
      const handle = await this.#root.getDirectoryHandle(found.folder);
      const files: [string, T][] = [];
      for (const file of wanted) {
        const path = `${found.dir}/${file}`;
        const bytes = await readFile(handle, file, path);
        if (!bytes) return damaged(path, "it is missing");
        const { sha256 } = found.manifest.files[file]!;
        if ((await digestOf(bytes)) !== sha256) return damaged(path, "its SHA-256 is not the manifest's");
        files.push([file, keep(bytes)]);
      }
      return { checkpoint: saved(found), files: Object.fromEntries(files) };
    } catch (error) {
      return problem(found.dir, error);
    }
  }
}

const saved = ({ manifest, dir }: Valid): SavedCheckpoint => ({ ...manifest, dir });
