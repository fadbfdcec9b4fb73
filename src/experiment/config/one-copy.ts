// A module that imports another copy of hookline than the one that runs has other classes, other events and another engine:
// what it makes would fail in ways that nobody understands. So it is an error before it is loaded.
import { builtin } from "../../platform/builtin.ts";
import type { Fail } from "./fail.ts";

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs">>;
type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;
type Url = ReturnType<typeof process.getBuiltinModule<"node:url">>;

const ONCE = ["hookline", "@jax-js/jax"];

interface Found {
  readonly directory: string;
  readonly version: string;
}

export function checkOneCopy(directory: string, fail: Fail): void {
  // From the sources, what loads TypeScript also says what `hookline` is.
  if (import.meta.url.endsWith(".ts")) return;
  const { dirname } = builtin<Paths>("A config", "node:path");
  const here = dirname(builtin<Url>("A config", "node:url").fileURLToPath(import.meta.url));
  for (const name of ONCE) {
    const [theirs, ours] = [find(name, directory), find(name, here)];
    // Whether it is needed at all, only the module's imports would say.
    if (!theirs || !ours || theirs.directory === ours.directory) continue;
    const advice =
      name === "hookline"
        ? "Run the project's own with `npx hookline`"
        : `Install ${name}@${ours.version} there, the version that hookline needs`;
    throw fail(
      `${directory} would import another copy of ${name} (${theirs.directory}, ${theirs.version}) than the one that runs (${ours.directory}, ${ours.version}). ${advice}.`,
    );
  }
}

/** The package that `name` means in a directory, as Node looks for it: the package around it, or one in node_modules. */
function find(name: string, from: string): Found | undefined {
  const { dirname, join } = builtin<Paths>("A config", "node:path");
  for (let here = from; ; here = dirname(here)) {
    const found = packageIn(here, name) ?? packageIn(join(here, "node_modules", name), name);
    if (found || dirname(here) === here) return found;
  }
}

function packageIn(directory: string, name: string): Found | undefined {
  const { existsSync, readFileSync, realpathSync } = builtin<Fs>("A config", "node:fs");
  const file = builtin<Paths>("A config", "node:path").join(directory, "package.json");
  if (!existsSync(file)) return undefined;
  const manifest = JSON.parse(readFileSync(file, "utf8")) as { name?: string; version?: string };
  return manifest.name === name ? { directory: realpathSync(directory), version: manifest.version ?? "?" } : undefined;
}
