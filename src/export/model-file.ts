// model.json: a model without the code that made it. A trainer writes it beside its first checkpoint, an export into its
// folder. Weights are not in it.
import { decodeSafetensors, safetensorsParts } from "../checkpoint/formats/safetensors.ts";
import { fromHostArrays, toHostArrays } from "../checkpoint/formats/tensor-values.ts";
import type { DType } from "../core/arrays.ts";
import { CheckpointError } from "../core/errors.ts";
import { messageOf } from "../core/maybe.ts";
import type { HostTensors } from "../core/model.ts";
import type { Json } from "../core/options.ts";
import { writeAtomically } from "../runs/atomic-write.ts";
import { parseExact, stringifyExact } from "../runs/exact-json.ts";
import { CONSTANTS_FILE, FORMATS } from "../runs/layout.ts";
import { arrayTypes, type ArrayType, type ForwardProgram } from "./program.ts";
import { packProgram, unpackProgram } from "./program-json.ts";

const { file: FILE, schema: SCHEMA, version: VERSION } = FORMATS.model;
/** A larger file is not one of ours: constants and weights are elsewhere. */
const MOST_BYTES = 256 * 1024 * 1024;

/** An array that a model takes or returns; null stands for the number of rows. */
export interface ArraySignature {
  readonly shape: readonly (number | null)[];
  readonly dtype: DType;
}

/** What a model takes and returns, by name. */
export interface Signature {
  readonly inputs: Readonly<Record<string, ArraySignature>>;
  readonly outputs: Readonly<Record<string, ArraySignature>>;
}

export interface ModelFile {
  /** Undefined if the forward pass cannot be captured, and in a folder with a program of another format. */
  readonly program?: ForwardProgram | undefined;
  /** Why there is no program. */
  readonly reason?: string | undefined;
  readonly signature?: Signature | undefined;
  /** A fitted preprocessor, as its `toJSON` gives it. */
  readonly preprocessor?: Json | undefined;
  /** Metrics of the weights, where they are known. */
  readonly metrics?: Readonly<Record<string, number>> | undefined;
}

export function signatureOf(program: ForwardProgram): Signature {
  const types = arrayTypes(program);
  const array = ({ shape, dtype }: ArrayType): ArraySignature => ({
    shape: shape.map((dim) => (typeof dim === "number" ? dim : null)),
    dtype,
  });
  return {
    inputs: Object.fromEntries(program.inputs.map((input) => [input.name, array(input)])),
    outputs: Object.fromEntries(program.outputs.map(({ name, of }) => [name, array(types[of]!)])),
  };
}

/** Writes model.json, and a file of constants if there are large ones. */
export async function writeModelFile(dir: string, model: ModelFile): Promise<void> {
  const { program, ...rest } = model;
  const packed = program && packProgram(program);
  if (packed && Object.keys(packed.tensors).length > 0) {
    const parts = safetensorsParts(fromHostArrays(packed.tensors));
    await writeAtomically(`${dir}/${CONSTANTS_FILE}`, parts, "Writing a model");
  }
  const text = stringifyExact({ schema: SCHEMA, version: VERSION, ...rest, ...(packed && { program: packed.json }) });
  await writeAtomically(`${dir}/${FILE}`, `${text}\n`, "Writing a model");
}

/** The bytes of a file in a folder; undefined if there is none. A folder may be on a disk, or at a URL. */
export type ReadFile = (name: string) => Promise<Uint8Array | undefined>;

/** Undefined if there is no model.json. `where` is the folder, for errors. */
export async function readModelFile(read: ReadFile, where: string): Promise<ModelFile | undefined> {
  const path = `${where}/${FILE}`;
  const bytes = await read(FILE);
  if (!bytes) return undefined;
  if (bytes.length > MOST_BYTES) throw refused(path, `it has ${bytes.length} bytes`);
  const found = parse(path, bytes);
  const { schema, version, program, reason, signature, preprocessor, metrics } = found;
  if (schema !== SCHEMA) throw refused(path, "it is not the model of a run");
  if (typeof version !== "number" || version > VERSION) throw newer(path, version);
  const refuse = (why: string): Error => refused(path, why);
  const captured =
    program === undefined ? undefined : unpackProgram(program, await constants(read, where, program), refuse);
  return {
    ...(captured && { program: captured, signature: signatureOf(captured) }),
    ...(!captured && isObject(signature) && { signature: signature as unknown as Signature }),
    ...(typeof reason === "string" && { reason }),
    ...(preprocessor !== undefined && { preprocessor: preprocessor as Json }),
    ...(isObject(metrics) && { metrics: numbersIn(metrics) }),
  };
}

function parse(path: string, bytes: Uint8Array): Record<string, unknown> {
  try {
    const found = parseExact(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (isObject(found)) return found;
  } catch (error) {
    throw refused(path, `it is not valid JSON (${messageOf(error)})`);
  }
  throw refused(path, "it is not the model of a run");
}

async function constants(read: ReadFile, where: string, program: unknown): Promise<HostTensors> {
  const list: unknown = isObject(program) ? program.constants : [];
  if (!Array.isArray(list) || !list.some((each) => isObject(each) && each.tensor !== undefined)) return {};
  const path = `${where}/${CONSTANTS_FILE}`;
  const bytes = await read(CONSTANTS_FILE);
  if (!bytes) throw refused(path, "it is missing, and the model needs its numbers");
  return toHostArrays(decodeSafetensors(bytes, path).tensors, path);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const numbersIn = (values: Record<string, unknown>): Record<string, number> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, number] => typeof entry[1] === "number"));

const refused = (path: string, reason: string): CheckpointError =>
  new CheckpointError(path, reason, "Export or train the model again.");

const newer = (path: string, version: unknown): CheckpointError =>
  new CheckpointError(path, `it was written by a newer hookline (version ${String(version)})`, "Update hookline.");
