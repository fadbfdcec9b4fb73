// The package that this command line belongs to.
import { readFileSync } from "node:fs";

interface Manifest {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** As published: the source and what is compiled from it lie equally deep. */
export const packageUrl = new URL("../../package.json", import.meta.url);

export const readManifest = (): Manifest => JSON.parse(readFileSync(packageUrl, "utf8")) as Manifest;
