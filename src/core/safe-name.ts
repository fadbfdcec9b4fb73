// Names that may become files: never a path, never hidden, never a device.
import { OptionError } from "./errors.ts";
import { show } from "./options.ts";

const LONGEST = 100;
const SAFE = /^[A-Za-z0-9_=-][A-Za-z0-9._=-]*$/;
/** Windows opens these as devices, with any ending. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

export function isSafeName(name: unknown): name is string {
  return (
    typeof name === "string" &&
    name.length <= LONGEST &&
    SAFE.test(name) &&
    !name.endsWith(".") &&
    !DEVICE.test(name) &&
    name !== "__proto__"
  );
}

/** Turns any text into a safe name: what is not allowed becomes `_`. */
export function sanitizeName(text: string): string {
  const plain = text
    .replace(/[^A-Za-z0-9._=-]/g, "_")
    .replace(/^\.+/, "_")
    .slice(0, LONGEST)
    .replace(/\.+$/, "_");
  const name = DEVICE.test(plain) || plain === "__proto__" ? `_${plain}`.slice(0, LONGEST) : plain;
  return name === "" ? "_" : name;
}

/** For names that a program gives: it should hear of a bad one, not find another on the disk. */
export function checkName(what: string, name: unknown): string {
  if (isSafeName(name)) return name;
  throw new OptionError(
    `Expected ${what} to be a name of at most ${LONGEST} letters, digits and \`. _ = -\` that does not start with a dot, got ${show(name)}`,
  );
}
