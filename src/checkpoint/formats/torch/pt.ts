// PyTorch's .pt files (torch.save since 1.6): a zip file of a pickle and one entry per storage. Nothing in one is ever run.
import { type BadFile, badFile, isForbiddenName, joinBytes, plainBytes, quote } from "../tensor.ts";
import { type Dict, kindOf, PickleTensor, type PickleValue, TorchRebuild, Tuple } from "./pickle-objects.ts";
import { readPickle } from "./pickle-reader.ts";
import { asTuple, MAX_DEPTH, type PtValue, writePickle } from "./pickle-writer.ts";
import { ZipFile, zipParts } from "./zip.ts";

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

/** A .pt file as chunks to be written in order. The tensors' own bytes are not copied. */
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

/** Reads a .pt file; `what` names it in errors. Contiguous tensors are views of the file's bytes. */
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
    // Cached, so that a storage with many tensors is compared with its checksum once.
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

/** The folder that holds all entries, the pickle among them. */
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

/** The plain values that the objects of a pickle of `size` bytes stand for. */
function toPlain(value: PickleValue, size: number, bad: BadFile): PtValue {
  // Every value takes at least a byte, unless a part is used repeatedly. Some reuse is normal, exponential growth is not.
  const mostNodes = 1000 + 4 * size;
  // A repeated name takes two bytes, however long it is.
  const mostText = 1_000_000 + 64 * size;
  let [nodes, text] = [0, 0];
  const count = (length: number): void => {
    text += length;
    if (text > mostText) throw bad(`it spells out more than ${mostText} characters from ${size} bytes`);
  };

  const visit = (each: PickleValue, depth: number): PtValue => {
    if (depth > MAX_DEPTH) throw bad(`it is nested deeper than ${MAX_DEPTH} levels, or contains itself`);
    if (++nodes > mostNodes) throw bad(`it spells out more than ${mostNodes} values from ${size} bytes`);
    if (each instanceof PickleTensor) return each.tensor;
    if (each instanceof Map) return dict(each, depth);
    if (each instanceof Tuple) return asTuple(each.items.map((item) => visit(item, depth + 1)));
    if (Array.isArray(each)) return each.map((item) => visit(item, depth + 1));
    if (typeof each === "string" || each instanceof Uint8Array) {
      count(each.length);
      return each;
    }
    if (each === null || typeof each !== "object") return each;
    return leaf(each, bad);
  };

  const dict = (entries: Dict, depth: number): PtValue => {
    const keys = [...entries.keys()];
    if (!keys.every((key) => typeof key === "string"))
      return new Map(keys.map((key) => [key, visit(entries.get(key)!, depth + 1)]));
    const plain = Object.create(null) as Record<string, PtValue>;
    for (const key of keys) {
      if (isForbiddenName(key)) throw bad(`it has the forbidden key ${quote(key)}`);
      count(key.length);
      plain[key] = visit(entries.get(key)!, depth + 1);
    }
    return plain;
  };

  return visit(value, 0);
}

/** Names that are values by themselves: `torch.float32`. */
function leaf(value: PickleValue, bad: BadFile): string {
  const name = kindOf(value);
  if (/^torch\.[a-z]\w*\d\w*$|^torch\.bool$/.test(name)) return name;
  throw bad(`it has ${name} where a value should be`);
}
