// Where the engine looks for a plugin, and in which order.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { findPlugin, sitePackages } from "../../../src/engines/xla/pjrt/find-plugin.ts";

let root: string;
beforeEach(() => void (root = mkdtempSync(join(tmpdir(), "hookline-site-"))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

function file(...parts: string[]): string {
  const path = join(root, ...parts);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
  return path;
}

it("takes what JAX's variable names before ours, and ours before what is installed", () => {
  const env = { PJRT_NAMES_AND_LIBRARY_PATHS: "cuda:/a.so,other:/b.so", HOOKLINE_PJRT_PLUGIN: "/c.so" };
  expect(findPlugin(env, [])).toMatchObject({ path: "/a.so", options: { platform_name: "cuda", preallocate: false } });
  expect(findPlugin({ HOOKLINE_PJRT_PLUGIN: "/c.so" }, [])).toMatchObject({
    path: "/c.so",
    options: {},
    libraries: [],
  });
  expect(findPlugin({}, [])).toBeUndefined();
});

it("prefers the newest CUDA, and loads its libraries in the order of their needs", () => {
  const site = join(root, "site-packages");
  file("site-packages", "jax_plugins", "xla_cuda12", "xla_cuda_plugin.so");
  const newest = file("site-packages", "jax_plugins", "xla_cuda13", "xla_cuda_plugin.so");
  file("site-packages", "jax_plugins", "xla_rocm7", "xla_rocm_plugin.so");
  const libraries = [
    file("site-packages", "nvidia", "cu13", "lib", "libcudart.so.13"),
    file("site-packages", "nvidia", "cu13", "lib", "libcublasLt.so.13"),
    file("site-packages", "nvidia", "cu13", "lib", "libcublas.so.13"),
    file("site-packages", "nvidia", "cudnn", "lib", "libcudnn.so.9"),
  ];
  file("site-packages", "nvidia", "cudnn", "lib", "libcudnn_graph.so.9");
  expect(findPlugin({}, [site])).toMatchObject({ path: newest, from: site, libraries });
});

it("finds ROCm's where there is no CUDA", () => {
  const rocm = file("site-packages", "jax_plugins", "xla_rocm7", "xla_rocm_plugin.so");
  expect(findPlugin({}, [join(root, "site-packages")])).toMatchObject({ path: rocm, options: {} });
});

it("looks into the active environment, the python3 on the path and what it links to", () => {
  const folders = ["venv", "conda", "python"].map((name) => {
    file(name, "lib", "python3.12", "site-packages", "x.py");
    return join(root, name, "lib", "python3.12", "site-packages");
  });
  file("python", "bin", "python3.12");
  mkdirSync(join(root, "bin"));
  symlinkSync(join(root, "python", "bin", "python3.12"), join(root, "bin", "python3"));
  const env = { VIRTUAL_ENV: join(root, "venv"), CONDA_PREFIX: join(root, "conda"), PATH: join(root, "bin") };
  const found = sitePackages(env);
  for (const folder of folders) expect(found).toContain(folder);
});
