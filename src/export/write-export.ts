// Writes a trained model into a folder that needs no training code.
import { safetensorsParts } from "../checkpoint/formats/safetensors.ts";
import { fromHostArrays } from "../checkpoint/formats/tensor-values.ts";
import { nodePath, onDisk } from "../checkpoint/weights/files.ts";
import { HooklineError } from "../core/errors.ts";
import type { HostTensors } from "../core/model.ts";
import { builtin } from "../platform/builtin.ts";
import { codeOf } from "../platform/file-errors.ts";
import { writeAtomically } from "../runs/atomic-write.ts";
import { CONSTANTS_FILE, FORMATS, ONNX_FILE, WEIGHTS_FILE } from "../runs/layout.ts";
import type { ExportedModel, ExportFormat, ExportOptions } from "./export-model.ts";
import { writeModelFile, type ModelFile } from "./model-file.ts";
import { programToOnnx } from "./onnx/program-to-onnx.ts";
import type { ForwardProgram } from "./program.ts";
import { readSavedModel, type SavedModel } from "./saved-model.ts";

const OWN_FILES: readonly string[] = [FORMATS.model.file, CONSTANTS_FILE, WEIGHTS_FILE, ONNX_FILE];

/** A file of an export, or what is written beside it until it is whole. */
const isOwn = (name: string): boolean =>
  OWN_FILES.some((own) => name === own || (name.startsWith(`${own}.`) && name.endsWith(".tmp")));

export async function writeExport(from: string, out: string, options: ExportOptions): Promise<ExportedModel> {
  const { format = "hookline", checkpoint, overwrite = false } = options;
  const folder = nodePath().resolve(out);
  await checkFolder(folder, overwrite);
  const saved = await readSavedModel(from, checkpoint === undefined ? {} : { checkpoint });
  const { program, weights: _, from: source, ...about } = saved;
  const files: Record<string, readonly Uint8Array[]> =
    format === "onnx"
      ? { [ONNX_FILE]: programToOnnx(programOf(saved, from), saved.weights) }
      : { [WEIGHTS_FILE]: safetensorsParts(fromHostArrays(weightsOf(saved, format, from))) };
  const model: ModelFile = format === "hookline" ? { ...about, program } : about;
  await onDisk(folder, () => writeAll(folder, files, model));
  return { folder, files: await sizesIn(folder), from: source, signature: saved.signature };
}

function programOf({ program, reason }: SavedModel, from: string): ForwardProgram {
  if (program) return program;
  const why = reason ?? "the folder has no program: it was exported in another format";
  throw new HooklineError(
    `The model of ${from} cannot be exported without its code: ${why.replace(/\.?$/, ".")} Weights alone: --format safetensors.`,
  );
}

/** The weights, which must be those of the program. */
function weightsOf(saved: SavedModel, format: ExportFormat, from: string): HostTensors {
  if (format === "safetensors") return saved.weights;
  const { params, buffers } = programOf(saved, from);
  for (const { name, shape } of [...params, ...buffers]) {
    if (saved.weights[name]?.shape.join() === shape.join()) continue;
    throw new HooklineError(
      `The weights of ${saved.from} do not fit the model that was captured: \`${name}\` [${shape.join(", ")}] is missing or has another shape.`,
    );
  }
  return saved.weights;
}

/** A folder that is new, empty, or an earlier export that may be replaced, also one that a crash has interrupted. */
async function checkFolder(folder: string, overwrite: boolean): Promise<void> {
  const names = await onDisk(folder, () => namesIn(folder));
  if (names.length === 0) return;
  const isOurs = names.every(isOwn);
  if (isOurs && overwrite) return;
  throw new HooklineError(
    isOurs
      ? `${folder} has a model${names.includes(FORMATS.model.file) ? "" : ", or a part of one,"} already. Choose another folder, or use overwrite: true (--overwrite).`
      : `${folder} has other files in it. Choose a new folder.`,
  );
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await builtin("exportModel", "node:fs/promises").readdir(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** model.json is written last: without it the folder is no model. */
async function writeAll(
  folder: string,
  files: Readonly<Record<string, readonly Uint8Array[]>>,
  model: ModelFile,
): Promise<void> {
  const { rm } = builtin("exportModel", "node:fs/promises");
  const clear = async (): Promise<void> => {
    for (const name of (await namesIn(folder)).filter(isOwn)) await rm(`${folder}/${name}`, { force: true });
  };
  await clear();
  try {
    for (const [name, parts] of Object.entries(files)) await writeAtomically(`${folder}/${name}`, parts, "exportModel");
    await writeModelFile(folder, model);
  } catch (error) {
    // Such as a full disk: the same command can then be repeated.
    await clear();
    throw error;
  }
}

async function sizesIn(folder: string): Promise<Record<string, number>> {
  const { readdir, stat } = builtin("exportModel", "node:fs/promises");
  const sizes: Record<string, number> = {};
  for (const name of (await readdir(folder)).sort()) sizes[name] = (await stat(`${folder}/${name}`)).size;
  return sizes;
}
