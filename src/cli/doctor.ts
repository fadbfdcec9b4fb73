// hookline doctor: what hookline can use on this machine and in this directory.
import { CHECKS, type Check } from "./lib/checks.ts";
import { EXIT } from "./lib/exit.ts";
import { print, printJson } from "./lib/output.ts";
import { readManifest } from "./lib/package.ts";
import { paint } from "./lib/paint.ts";
import { table } from "./lib/table.ts";

/** Exits with 1 when something is missing that hookline cannot do without. */
export async function run({ json }: { readonly json?: boolean }): Promise<number> {
  const checks: Check[] = [];
  // One after the other: they would spoil each other's times.
  for (const check of CHECKS) checks.push(...[await check()].flat());
  const isWell = checks.every(({ status, needed }) => status !== "missing" || !needed);
  const { version } = readManifest();
  if (json) printJson({ hookline: version, ok: isWell, checks });
  else {
    const rows = checks.map(({ name, status, needed, found }) => [
      name,
      status !== "missing" ? status : needed ? "MISSING" : "not here",
      found,
    ]);
    print(table([`hookline ${version}`, "", ""], rows));
    print(
      isWell ? paint(process.stdout, "green", "All that is needed is here.") : "Something that is needed is missing.",
    );
  }
  return isWell ? EXIT.ok : EXIT.failed;
}
