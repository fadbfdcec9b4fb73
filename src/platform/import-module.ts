// Imports a user's module: by Node where it can, so that there is one of each module, by jiti where it cannot read TypeScript.
// jiti leaves what is JavaScript to Node too: a hook's `hookline` is the one that runs.
import { builtin } from "./builtin.ts";
import { jitiFor } from "./jiti.ts";
import { syntaxErrorIn, throwPlace } from "./module-error.ts";

type Url = ReturnType<typeof process.getBuiltinModule<"node:url">>;

export type Exports = Readonly<Record<string, unknown>>;

/** Whoever wants the module makes the error: a config has a place to name, a thread has none. */
type Fail = (message: string, cause: unknown) => Error;

/** Node 20 has no TypeScript at all; later ones have what can be erased, and none in node_modules. */
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
  const { pathToFileURL } = builtin<Url>("A module", "node:url");
  return exportsOf((await import(/* @vite-ignore */ pathToFileURL(file).href)) as Exports);
}

/** In a program run with `node --import jiti/register`, a module of TypeScript has its exports in a default export. */
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
    return fail(`${shown} imports what is not there: ${what}.${hint}`, error);
  }
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return fail(`${shown} threw on import: ${what}${throwPlace(error, project)}`, error);
}
