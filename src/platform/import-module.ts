// Imports a user's module and explains what is wrong with it. Node imports it where it can, so that there is one instance
// of each module; jiti imports TypeScript that Node cannot read, and leaves JavaScript to Node.
import { builtin } from "./builtin.ts";

export type Exports = Readonly<Record<string, unknown>>;

/** Makes the error: that of a config names a line, that of a thread does not. */
type Fail = (message: string, cause: unknown) => Error;

/** Node 20 reads no TypeScript; later versions read erasable syntax, and none in node_modules. */
const NEEDS_JITI = new Set([
  "ERR_UNKNOWN_FILE_EXTENSION",
  "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
  "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING",
]);

/** @param file absolute; `shown` is how messages call it */
export async function importModule(file: string, shown: string, project: string, fail: Fail): Promise<Exports> {
  try {
    return await importNatively(file);
  } catch (error) {
    if (!NEEDS_JITI.has(codeOf(error))) throw await explained(error, file, shown, project, fail);
  }
  try {
    return await (await jitiFor(file)).import<Exports>(file);
  } catch (error) {
    throw await explained(error, file, shown, project, fail);
  }
}

async function importNatively(file: string): Promise<Exports> {
  const { pathToFileURL } = builtin("A module", "node:url");
  return exportsOf((await import(/* @vite-ignore */ pathToFileURL(file).href)) as Exports);
}

/** With `node --import jiti/register`, a TypeScript module has its exports inside a default export. */
function exportsOf(module: Exports): Exports {
  const { default: inner, ...others } = module;
  const isWrapped =
    Object.keys(others).length === 0 && typeof inner === "object" && inner !== null && "__esModule" in inner;
  return isWrapped ? inner : module;
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code);

async function explained(error: unknown, file: string, shown: string, project: string, fail: Fail): Promise<Error> {
  const syntax = await syntaxErrorIn(error, file);
  if (syntax) return fail(`${shown}:${syntax.place} cannot be read: ${syntax.message}`, error);
  if (codeOf(error) === "ERR_MODULE_NOT_FOUND" || codeOf(error) === "MODULE_NOT_FOUND") {
    const [what] = (error as Error).message.split("\n");
    const hint = /'(?:hookline|@jax-js\/jax)[/']/.test(what!) ? " Install it in the project: npm install hookline" : "";
    return fail(`${shown} imports a module that does not exist: ${what}.${hint}`, error);
  }
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return fail(`${shown} threw on import: ${what}${throwPlace(error, project)}`, error);
}

/** Loaded on first use, since it brings a compiler. No cache on disk: anyone could write code into a temporary directory. */
export async function jitiFor(file: string): Promise<ReturnType<(typeof import("jiti"))["createJiti"]>> {
  // A bundler for browsers must not find it.
  const name: string = "jiti";
  const { createJiti } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as typeof import("jiti");
  return createJiti(file, { fsCache: false, interopDefault: false });
}

interface SyntaxProblem {
  readonly message: string;
  /** `line:column` */
  readonly place: string;
}

/** jiti writes its parser's error into the output for a source that it cannot read. */
const COMPLAINT = /__JITI_ERROR__\s*=\s*(\{.*\});?/s;

/** Node reports a syntax error without its line or file: parsing the file again finds it. */
async function syntaxErrorIn(error: unknown, file: string): Promise<SyntaxProblem | undefined> {
  const isSyntax = error instanceof SyntaxError || (error instanceof Error && /^\w*ParseError/.test(error.message));
  if (!isSyntax) return undefined;
  const source = await builtin("A module", "node:fs/promises").readFile(file, "utf8");
  const jiti = await jitiFor(file);
  const output = jiti.transform({ source, filename: file, ts: /\.[cm]?ts$/.test(file), async: true });
  const [, complaint] = COMPLAINT.exec(output) ?? [];
  if (complaint === undefined) return undefined;
  const { message, line, column } = JSON.parse(complaint) as { message: string; line: number; column: number };
  return { message: `${message.trim()}.`, place: `${line}:${column + 1}` };
}

const FRAME = /\(?((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/])[^()]*?):(\d+):(\d+)\)?$/;

/** ` (hooks.ts:3:7)`: the topmost frame in the project's own files, or nothing. */
function throwPlace(error: unknown, project: string): string {
  if (!(error instanceof Error)) return "";
  const { relative } = builtin("A module", "node:path");
  const { fileURLToPath } = builtin("A module", "node:url");
  for (const frame of (error.stack ?? "").split("\n")) {
    const [, place, line, column] = FRAME.exec(frame) ?? [];
    if (place === undefined) continue;
    const way = relative(project, place.startsWith("file:") ? fileURLToPath(place) : place);
    if (!/^\.\.|^[A-Za-z]:|node_modules/.test(way)) return ` (${way}:${line}:${column})`;
  }
  return "";
}
