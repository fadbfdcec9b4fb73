// PyTorch's .pt files (torch.save since 1.6): a zip of a pickle and of one entry per storage. Nothing in one is ever run.
import { badFile, quote, type BadFile } from "./bad-file.ts";
import { joinBytes, plainBytes } from "./bytes.ts";
import { readPickle } from "./pickle-reader.ts";
import { writePickle } from "./pickle-writer.ts";
import { toPlain, type PtValue } from "./pt-value.ts";
import { TorchRebuild } from "./torch-rebuild.ts";
import { ZipFile } from "./zip-reader.ts";
import { zipParts } from "./zip-writer.ts";

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

/** A .pt file in parts to be written one after the other; the tensors' own bytes are not copied. */
export function ptParts(value: PtValue): Uint8Array[] {
  const { pickle, storages } = writePickle(value, badFile("a .pt file to be written"));
  return zipParts([
    ["archive/data.pkl", pickle],
    ["archive/byteorder", text("little")],
    ...storages.map((bytes, key) => [`archive/data/${key}`, bytes] as const),
    ["archive/version", text("3\n")],
  ]);
}

/**
 * The bytes of a .pt file that `torch.load(path, weights_only=True)` reads: tensors, numbers, text, arrays, objects.
 * PyTorch before 2.0 refuses floats with `weights_only=True`; a state dict has none.
 */
export const encodePt = (value: PtValue): Uint8Array => joinBytes(ptParts(value));

/** Reads a .pt file; `what` names it in errors. Tensors share the file's bytes where they are contiguous. */
export function decodePt(file: Uint8Array, what: string): PtValue {
  const bad = badFile(what);
  const bytes = plainBytes(file);
  checkStart(bytes, bad);
  const zip = new ZipFile(bytes, bad);
  const root = rootOf(zip.names, bad);
  const order = zip.get(`${root}/byteorder`);
  if (order !== undefined && new TextDecoder().decode(order) !== "little")
    throw bad("it was written on a big-endian machine", "Load it in PyTorch on an ordinary one and save it again.");
  const storages = new Map<string, Uint8Array | undefined>();
  const storage = (key: string): Uint8Array | undefined => {
    // Kept, so that a storage with many tensors is checked against its checksum once.
    if (!storages.has(key)) storages.set(key, zip.get(`${root}/data/${key}`));
    return storages.get(key);
  };
  const rebuild = new TorchRebuild(storage, bytes.length, bad);
  const pickle = zip.get(`${root}/data.pkl`)!;
  return toPlain(readPickle(pickle, rebuild, bad), pickle.length, bad);
}

function checkStart(bytes: Uint8Array, bad: BadFile): void {
  if (bytes[0] === 0x50 && bytes[1] === 0x4b) return;
  const again = "Load it in PyTorch and save it again: torch.save(torch.load(path, weights_only=True), path).";
  if (bytes[0] === 0x80) throw bad("it is in the format that PyTorch had before 1.6", again);
  throw bad("it is no .pt file: it does not begin as a zip file does");
}

/** All entries lie in one folder, the one with the pickle. */
function rootOf(names: readonly string[], bad: BadFile): string {
  const [pickle, second] = names.filter((name) => /^[^/]+\/data\.pkl$/.test(name));
  if (pickle === undefined || second !== undefined)
    throw bad(`it has ${second === undefined ? "no data.pkl" : "several data.pkl"}, so it is no .pt file`);
  const root = pickle.slice(0, pickle.indexOf("/"));
  const stray = names.find((name) => !name.startsWith(`${root}/`));
  if (stray !== undefined) throw bad(`its entry ${quote(stray)} lies outside of ${quote(root)}`);
  if (names.includes(`${root}/constants.pkl`))
    throw bad(
      "it is a TorchScript program, not a file of tensors",
      "In Python: torch.save(torch.jit.load(path).state_dict(), path).",
    );
  return root;
}
