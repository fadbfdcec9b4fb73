// What a system's error is called, in Node and in browsers.

/** The code of a Node error, or the name of a DOMException. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : error.name;
}
