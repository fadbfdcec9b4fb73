// Where in a user's module an import failed: a syntax error's line, or the line that threw.
import { builtin } from "./builtin.ts";
import { jitiFor } from "./jiti.ts";

type Files = ReturnType<typeof process.getBuiltinModule<"node:fs/promises">>;
type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;
type Url = ReturnType<typeof process.getBuiltinModule<"node:url">>;

interface SyntaxProblem {
  readonly message: string;
  /** `line:column` */
  readonly place: string;
}

/** jiti writes its parser's complaint into what it makes of a source that it cannot read. */
const COMPLAINT = /__JITI_ERROR__\s*=\s*(\{.*\});?/s;

/** Node says that there is a syntax error, but not where, nor in which file: reading the file again tells. */
export async function syntaxErrorIn(error: unknown, file: string): Promise<SyntaxProblem | undefined> {
  const isSyntax = error instanceof SyntaxError || (error instanceof Error && /^\w*ParseError/.test(error.message));
  if (!isSyntax) return undefined;
  const source = await builtin<Files>("A module", "node:fs/promises").readFile(file, "utf8");
  const jiti = await jitiFor(file);
  const output = jiti.transform({ source, filename: file, ts: /\.[cm]?ts$/.test(file), async: true });
  const [, complaint] = COMPLAINT.exec(output) ?? [];
  if (complaint === undefined) return undefined;
  const { message, line, column } = JSON.parse(complaint) as { message: string; line: number; column: number };
  return { message: `${message.trim()}.`, place: `${line}:${column + 1}` };
}

const FRAME = /\(?((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/])[^()]*?):(\d+):(\d+)\)?$/;

/** ` (hooks.ts:3:7)`: the topmost frame in the project's own files, or nothing. */
export function throwPlace(error: unknown, project: string): string {
  if (!(error instanceof Error)) return "";
  const { relative } = builtin<Paths>("A module", "node:path");
  const { fileURLToPath } = builtin<Url>("A module", "node:url");
  for (const frame of (error.stack ?? "").split("\n")) {
    const [, place, line, column] = FRAME.exec(frame) ?? [];
    if (place === undefined) continue;
    const way = relative(project, place.startsWith("file:") ? fileURLToPath(place) : place);
    if (!/^\.\.|^[A-Za-z]:|node_modules/.test(way)) return ` (${way}:${line}:${column})`;
  }
  return "";
}
