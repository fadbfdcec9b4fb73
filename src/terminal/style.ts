// The style of output: whether it may be redrawn, coloured, in Unicode, or must be quiet; and colours.

/** What Node's `process` knows; nothing of it in a browser. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly argv: readonly string[];
  readonly platform: string;
  readonly isTTY: boolean;
}

interface NodeProcess {
  readonly versions?: { readonly node?: string };
  readonly env: Surroundings["env"];
  readonly argv: readonly string[];
  readonly platform: string;
  readonly stdout: { readonly isTTY?: boolean };
}

/** Undefined in a browser, which has no terminal. */
export function surroundings(): Surroundings | undefined {
  const { process } = globalThis as { process?: NodeProcess };
  if (!process?.versions?.node) return undefined;
  const { env, argv, platform, stdout } = process;
  return { env, argv, platform, isTTY: stdout.isTTY === true };
}

/** Set, and not to say no. */
const isOn = (value: string | undefined): boolean => value !== undefined && !["", "0", "false"].includes(value);

export const isQuiet = ({ env, argv }: Surroundings): boolean => isOn(env.HOOKLINE_QUIET) || argv.includes("--quiet");

/** Can a line be drawn again? A CI log keeps every version of it. */
export const canRedraw = ({ env, isTTY }: Surroundings): boolean => isTTY && env.TERM !== "dumb" && !isOn(env.CI);

/** FORCE_COLOR wins over NO_COLOR, as in Node itself. */
export function wantsColor(around: Surroundings): boolean {
  const { FORCE_COLOR: force, NO_COLOR: no } = around.env;
  if (force !== undefined) return force === "" || isOn(force);
  return (no === undefined || no === "") && canRedraw(around);
}

/** By the locale; the Linux console and old Windows ones have no glyphs for it. */
export function wantsUnicode({ env, platform }: Surroundings): boolean {
  if (env.TERM === "linux" || env.TERM === "dumb") return false;
  if (platform === "win32") return isOn(env.WT_SESSION) || env.TERM_PROGRAM === "vscode";
  return /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || "");
}

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

export type Paint = Readonly<Record<keyof typeof CODES, (text: string) => string>>;

export function paint(color: boolean): Paint {
  const painters = Object.entries(CODES).map(([name, [on, off]]) => {
    const apply = (text: string): string => (color && text !== "" ? `\u001B[${on}m${text}\u001B[${off}m` : text);
    return [name, apply] as const;
  });
  return Object.fromEntries(painters) as Paint;
}

/** What a line may be made of. */
export interface Style {
  readonly color: boolean;
  readonly unicode: boolean;
}
