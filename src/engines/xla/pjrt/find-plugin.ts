// Where a PJRT plugin lies: named by the environment, else in the packages of a Python, where pip puts JAX's.
import { builtin } from "../../../platform/builtin.ts";
import type { Koffi } from "../../../platform/koffi.ts";
import type { ClientOptions } from "./options.ts";

export interface FoundPlugin {
  readonly path: string;
  /** How it was found, for messages. */
  readonly from: string;
  /** Libraries of CUDA and ROCm that pip installed beside it: loaded first, since the plugin looks for them by name. */
  readonly libraries: readonly string[];
  readonly options: ClientOptions;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** By the newest CUDA first; a plugin of another kind is named by the environment. */
const FAMILIES = [/^xla_cuda\d+$/, /^xla_rocm\d+$/];
/** In the order in which they need each other. */
const CUDA_LIBRARIES =
  /^lib(cudart|nvJitLink|nvrtc-builtins|nvrtc|cublasLt|cublas|cupti|cusparse|cufft|cusolver|nccl|nvshmem_host|cudnn)\.so/;

/** Memory is taken when it is needed: a process that shares the GPU must not take most of it at once. */
const CUDA_OPTIONS: ClientOptions = {
  platform_name: "cuda",
  allocator: "default",
  preallocate: false,
  abort_collectives_on_failure: false,
  use_tfrt_gpu_client: false,
};

/** Undefined when there is none. */
export function findPlugin(env: Environment = process.env, sites = sitePackages(env)): FoundPlugin | undefined {
  const [named] = (env.PJRT_NAMES_AND_LIBRARY_PATHS ?? "").split(",").filter(Boolean);
  if (named) {
    const colon = named.indexOf(":");
    return byPath(named.slice(colon + 1), "PJRT_NAMES_AND_LIBRARY_PATHS", named.slice(0, Math.max(colon, 0)));
  }
  if (env.HOOKLINE_PJRT_PLUGIN) return byPath(env.HOOKLINE_PJRT_PLUGIN, "HOOKLINE_PJRT_PLUGIN", "");
  for (const site of sites) {
    const path = pluginIn(site);
    if (path) return byPath(path, site, "");
  }
  return undefined;
}

function byPath(path: string, from: string, name: string): FoundPlugin {
  const { dirname } = builtin('Engine "xla"', "node:path");
  const isCuda = /cuda/.test(name) || /cuda/.test(path);
  // …/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so
  const site = dirname(dirname(dirname(path)));
  return { path, from, libraries: isCuda ? librariesIn(site) : [], options: isCuda ? CUDA_OPTIONS : {} };
}

function pluginIn(site: string): string | undefined {
  const { join } = builtin('Engine "xla"', "node:path");
  const folder = join(site, "jax_plugins");
  for (const family of FAMILIES) {
    const names = list(folder).filter((name) => family.test(name));
    for (const name of names.sort().toReversed()) {
      const file = list(join(folder, name)).find((one) => /^xla_.*_plugin\.so$/.test(one));
      if (file) return join(folder, name, file);
    }
  }
  return undefined;
}

function librariesIn(site: string): string[] {
  const { join } = builtin('Engine "xla"', "node:path");
  const folder = join(site, "nvidia");
  const files = list(folder).flatMap((name) =>
    list(join(folder, name, "lib")).map((file) => join(folder, name, "lib", file)),
  );
  const order = CUDA_LIBRARIES.source.match(/\((.*)\)/)![1]!.split("|");
  return order.flatMap((name) => files.filter((file) => file.includes(`/lib${name}.so`)));
}

/** Folders in which pip may have installed packages: of the active environment, of the `python3` on the path, of the user. */
export function sitePackages(env: Environment): string[] {
  const { dirname, join } = builtin('Engine "xla"', "node:path");
  const { realpathSync } = builtin('Engine "xla"', "node:fs");
  const roots = [env.VIRTUAL_ENV, env.CONDA_PREFIX].filter((root) => root !== undefined);
  for (const folder of (env.PATH ?? "").split(":").filter(Boolean)) {
    if (!list(folder).includes("python3")) continue;
    roots.push(dirname(folder));
    // The interpreter of a virtual environment is a link to another's.
    roots.push(dirname(dirname(realpathSync(join(folder, "python3")))));
  }
  if (env.HOME) roots.push(join(env.HOME, ".local"));
  const libraries = roots.flatMap((root) => [join(root, "lib"), join(root, "lib64")]);
  const folders = libraries.flatMap((lib) =>
    list(lib)
      .filter((name) => name.startsWith("python3"))
      .flatMap((name) => [join(lib, name, "site-packages"), join(lib, name, "dist-packages")]),
  );
  return [...new Set(folders)];
}

/** The names in a folder; none if it cannot be read. */
function list(folder: string): string[] {
  try {
    return builtin('Engine "xla"', "node:fs").readdirSync(folder);
  } catch {
    return [];
  }
}

/** A library that cannot be loaded is one that the plugin does not need, or whose absence the plugin reports itself. */
export function preload(koffi: Koffi, libraries: readonly string[]): void {
  // XLA reports on standard error what it does, line by line; as in JAX, warnings and errors alone come through.
  process.env.TF_CPP_MIN_LOG_LEVEL ??= "1";
  for (const path of libraries) {
    try {
      koffi.load(path, { global: true, lazy: true });
    } catch {
      continue;
    }
  }
}
