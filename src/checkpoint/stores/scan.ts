// The folders that a scan of a store found, the order in which they are tried, and the errors about them.
import { CheckpointError } from "../../core/errors.ts";
import { NO_CHECKPOINT } from "../../core/saving.ts";
import { didYouMean } from "../../core/names.ts";
import type { Manifest } from "../manifest.ts";
import { byAge, bySave, lastRunFirst, type BadCheckpoint, type SavedCheckpoint } from "../store.ts";

interface Folder {
  readonly folder: string;
  /** The folder's path, for errors. */
  readonly dir: string;
  /** Whether it is being replaced: it is used until its successor is durable. */
  readonly replaced: boolean;
  /** Infinite if the manifest cannot be read. */
  readonly step: number;
}

export interface Valid extends Folder {
  readonly kind: "valid";
  readonly manifest: Manifest;
}

export type Found =
  | Valid
  | (Folder & { readonly kind: "newer"; readonly schema: number })
  | (Folder & { readonly kind: "bad"; readonly error: CheckpointError });

/** An intact checkpoint, and what was read of its files. */
export interface Opened<T> {
  readonly checkpoint: SavedCheckpoint;
  readonly files: Readonly<Record<string, T>>;
}

export const nameOf = (found: Found): string => (found.kind === "valid" ? found.manifest.name : found.folder);

/** The order in which `load` tries them. Damaged ones of unknown age come first, so that they are reported. */
export function inLoadOrder(all: readonly Found[]): Found[] {
  const known = all.filter((found): found is Valid => found.kind === "valid").map(({ manifest }) => manifest);
  const runs = [...new Set(lastRunFirst(known).map(({ runId }) => runId))];
  const runOf = (found: Found): number => (found.kind === "valid" ? runs.indexOf(found.manifest.runId) : 0);
  return [...all].sort((a, b) => {
    // One of an unknown run is compared by its step with those of the run that saved last.
    return runOf(a) - runOf(b) || newestFirst(a, b);
  });
}

/** If all else is equal, the replaced one is older. */
function newestFirst(a: Found, b: Found): number {
  if (a.step !== b.step) return b.step - a.step;
  if (a.kind !== "valid" || b.kind !== "valid") return 0;
  return bySave(b.manifest, a.manifest) || Number(a.replaced) - Number(b.replaced);
}

/** Oldest first, without those whose successor is intact too. */
export function visible(intact: readonly Valid[], toSaved: (found: Valid) => SavedCheckpoint): SavedCheckpoint[] {
  const names = new Set(intact.filter(({ replaced }) => !replaced).map(nameOf));
  return intact
    .filter((found) => !found.replaced || !names.has(nameOf(found)))
    .map(toSaved)
    .sort(byAge);
}

/** The files to read. Asking for one that the checkpoint does not have is an error, but not damage. */
export function wantedFiles({ dir, manifest }: Valid, only: readonly string[] | undefined): readonly string[] {
  const known = Object.keys(manifest.files);
  const missing = only?.find((file) => !known.includes(file));
  if (missing === undefined) return only ?? known;
  throw new CheckpointError(
    `${dir}/${missing}`,
    "the checkpoint has no such file",
    `It has: ${known.join(", ") || "none"}.`,
  );
}

/** A newer version is an error: silently loading an older checkpoint would lose steps. */
export function newerVersion(file: string, schema: number): CheckpointError {
  return new CheckpointError(
    file,
    `it was written by a newer hookline (schema version ${schema})`,
    "Update hookline, or move this checkpoint away to use the one before.",
  );
}

export const asSkipped = (found: Found, { file, reason }: CheckpointError): BadCheckpoint => ({
  name: nameOf(found),
  file,
  reason,
});

/** The error when no checkpoint could be loaded. */
export function nothingLoaded(
  root: string,
  name: string | undefined,
  problems: readonly CheckpointError[],
  known: readonly Found[],
): CheckpointError {
  if (problems.length === 1) return problems[0]!;
  if (problems.length > 1) {
    const list = problems.map(({ file, reason }) => `${file}: ${reason}`).join("; ");
    return new CheckpointError(root, `no intact checkpoint (${list})`, "Restore one from a copy, or start a new run.");
  }
  if (name === undefined) {
    return new CheckpointError(root, NO_CHECKPOINT, "Check the path, or start without `resume`.");
  }
  return noSuchCheckpoint(`${root}/${name}`, name, [...new Set(known.map(nameOf))]);
}

export function noSuchCheckpoint(file: string, name: string, known: readonly string[]): CheckpointError {
  const near = didYouMean(name, known).trim();
  const all = `There is: ${known.join(", ") || "none"}.`;
  return new CheckpointError(file, "there is no such checkpoint", near === "" ? all : `${near} ${all}`);
}
