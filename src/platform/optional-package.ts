// Packages that few users need: optional peers, loaded when a feature that needs them is used.
import { EngineError } from "../core/errors.ts";
import { builtinOrNone } from "./builtin.ts";

/** What imports a package. */
export type PackageImport = () => Promise<object>;

const provided = new Map<string, PackageImport>();

/**
 * Tells hookline how to import optional packages in a page or a worker whose code a bundler makes: there a package has no
 * name once the page runs. Node finds packages without this.
 * @example providePackages({ "@huggingface/tokenizers": () => import("@huggingface/tokenizers") });
 */
export function providePackages(packages: Readonly<Record<string, PackageImport>>): void {
  for (const [name, load] of Object.entries(packages)) provided.set(name, load);
}

/**
 * Imports an optional package; without it, an error names the `owner` who needs it and what to install.
 * @param install what npm installs, where that is more than the name: a version, or other packages too
 */
export async function optionalPackage<T>(owner: string, name: string, install: readonly string[] = [name]): Promise<T> {
  try {
    const load = provided.get(name);
    if (load) return (await load()) as T;
    // Not a literal, so that bundlers do not try to resolve the package.
    return (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as T;
  } catch (cause) {
    // It is there, but not for this system, or something that it needs is not. A browser's error has no code.
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== undefined && (code !== "ERR_MODULE_NOT_FOUND" || !message.includes(`'${name}'`))) {
      throw new EngineError(`${owner}: the package ${name} cannot be loaded: ${message}`, { cause });
    }
    const names = install.map((each) => each.replace(/(?<=.)@.*/, ""));
    const needs = names.length === 1 ? `the package ${names[0]}` : `the packages ${names.join(" and ")}`;
    const it = names.length === 1 ? "it" : "them";
    const bundled = builtinOrNone("node:module")
      ? ""
      : `. In a bundled page: providePackages({ ${names.map((each) => `"${each}": () => import("${each}")`).join(", ")} })`;
    throw new EngineError(`${owner} needs ${needs}. Install ${it}: npm install ${install.join(" ")}${bundled}`, {
      cause,
    });
  }
}
