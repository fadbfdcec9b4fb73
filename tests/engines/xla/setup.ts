// Before the tests of `npm run test:xla`: without a plugin of its own, XLA's CPU client behind the test plugin.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileTestPlugin, jaxlibBackend } from "./test-plugin.ts";

export default function setup(): () => void {
  const cache = mkdtempSync(join(tmpdir(), "hookline-cache-"));
  // The tests compile the same models again and again, but never into the user's own cache.
  process.env.HOOKLINE_CACHE = cache;
  const removeCache = (): void => rmSync(cache, { recursive: true, force: true });
  if (process.env.HOOKLINE_PJRT_PLUGIN) return removeCache;
  const [plugin, backend] = [compileTestPlugin(), jaxlibBackend()];
  if (!plugin || !backend) {
    throw new Error(
      "These tests need a PJRT plugin (HOOKLINE_PJRT_PLUGIN), or a C compiler, koffi and a python3 with jaxlib (pip install jax).",
    );
  }
  process.env.HOOKLINE_PJRT_PLUGIN = plugin.path;
  process.env.HOOKLINE_TEST_PJRT_BACKEND = backend;
  return () => {
    plugin.remove();
    removeCache();
  };
}
