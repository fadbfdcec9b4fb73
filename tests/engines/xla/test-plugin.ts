// The test plugin: compiled once per process with the system's C compiler. Where Python has jaxlib, it computes.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { koffiOrNone, type Koffi } from "../../../src/platform/koffi.ts";

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const KINDS = ["client", "device", "buffer", "program", "executable", "event", "error", "mapping"] as const;
type Kind = (typeof KINDS)[number];

export interface TestPlugin {
  readonly path: string;
  readonly koffi: Koffi;
  /** How many of these are alive. */
  live(kind: Kind): number;
  /** How often this function was called. */
  calls(name: string): number;
  /** The next call of this function fails so. */
  fail(name: string, code: number, text: string): void;
  remove(): void;
}

/** Undefined where there is no C compiler, or no koffi. */
export function compileTestPlugin(): TestPlugin | undefined {
  const koffi = koffiOrNone();
  const folder = mkdtempSync(join(tmpdir(), "hookline-pjrt-"));
  const path = join(folder, "plugin.so");
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    execFileSync("cc", ["-shared", "-fPIC", "-O1", "-pthread", here("plugin.c"), "-o", path], { stdio: "pipe" });
  } catch {
    remove();
    return undefined;
  }
  if (!koffi) return undefined;
  const library = koffi.load(path);
  const live = library.func("int64_t MockLive(int kind)");
  const calls = library.func("int64_t MockCalls(const char *name)");
  const fail = library.func("void MockFail(const char *name, int code, const char *text)");
  return {
    path,
    koffi,
    live: (kind) => Number(live(KINDS.indexOf(kind))),
    calls: (name) => Number(calls(name)),
    fail: (name, code, text) => void fail(name, code, text),
    remove,
  };
}

/** The command of XLA's CPU client; undefined where Python has no jaxlib. */
export function jaxlibBackend(): string | undefined {
  try {
    execFileSync("python3", ["-c", "import importlib.util as u, sys; sys.exit(u.find_spec('jaxlib') is None)"]);
    return `python3 ${here("backend.py")}`;
  } catch {
    return undefined;
  }
}
