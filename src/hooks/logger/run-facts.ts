// What loggers record about a run: its settings and where it runs, without anything that looks like a secret.
import { numberToJson } from "../../runs/exact-json.ts";
import { thisProcess } from "../../runs/liveness.ts";
import type { ContextOf } from "../../core/context.ts";
import { OptionError } from "../../core/errors.ts";
import type { Json } from "../../core/options.ts";
import type { Optimizer } from "../../core/optimizer.ts";
import { builtinOrNone } from "../../platform/builtin.ts";
import { didYouMean } from "../../core/names.ts";
import { isSecret, redact, redactArguments } from "../../platform/redact.ts";

type Around = Pick<ContextOf<"trainBegin">, "config" | "optimizers" | "device" | "paramCount" | "totalSteps">;

/** Options that say nothing about the training. */
const NOT_HPARAMS = new Set(["runDir", "signals", "signalGrace", "yieldEvery", "closeTimeout", "maxRollbacks", "save"]);

/** Nesting beyond this is left out; a cyclic object would never end. */
const DEEPEST = 6;
const LONGEST_LIST = 100;

/** Plain data without secrets, recognized by their keys and by their form. Anything that is not data is left out. */
export function withoutSecrets(value: unknown, secrets: readonly string[], depth = 0): Json | undefined {
  if (typeof value === "string") return redact(value, secrets);
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") return numberToJson(value);
  if (typeof value !== "object" || depth > DEEPEST) return undefined;
  if (ArrayBuffer.isView(value)) return `${value.constructor.name} of ${value.byteLength} bytes`;
  if (Array.isArray(value)) {
    const items = value.slice(0, LONGEST_LIST).map((item) => withoutSecrets(item, secrets, depth + 1));
    return items.filter((item) => item !== undefined);
  }
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);
  if (!isPlain) return value.constructor.name;
  const entries = Object.entries(value).map(([key, item]: [string, unknown]) => {
    return [redact(key, secrets), isSecret(key, item) ? "…" : withoutSecrets(item, secrets, depth + 1)] as const;
  });
  const known = entries.filter(([, item]) => item !== undefined);
  return known.length === 0 && entries.length > 0 ? undefined : (Object.fromEntries(known) as Json);
}

/** Options that are plain values and say something about the training. */
export function plainOptions(config: object): Record<string, Json> {
  const plain = Object.entries(config).filter(
    ([key, value]) => !NOT_HPARAMS.has(key) && ["number", "string", "boolean"].includes(typeof value),
  );
  return Object.fromEntries(plain);
}

/** The hyperparameters that the user gave or named; all of them by default. */
export function hparamsOf(
  around: Around,
  wanted: Readonly<Record<string, Json>> | readonly string[] | undefined,
): Readonly<Record<string, Json>> {
  const all = defaultHparams(around);
  if (wanted === undefined) return all;
  if (!Array.isArray(wanted)) return wanted as Record<string, Json>;
  const missing = (wanted as readonly string[]).find((key) => !Object.hasOwn(all, key));
  if (missing !== undefined)
    throw new OptionError(`logger: there is no hyperparameter \`${missing}\`.${didYouMean(missing, Object.keys(all))}`);
  return Object.fromEntries((wanted as readonly string[]).map((key) => [key, all[key]!]));
}

/** The trainer's options that are plain values, and what the optimizers were made with. */
function defaultHparams({ config, optimizers }: Around): Record<string, Json> {
  const groups = optimizers.flatMap(({ name, groups: all }) => {
    // The initial values: schedules and hooks change them, and a resumed run begins with the changed ones.
    const { defaults, groups: given } = optimizerOf(config, name);
    return all.flatMap(({ name: group }, i) => {
      // The group of all other parameters, if there is one, comes last.
      const { lr = defaults.lr, weightDecay = defaults.weightDecay, momentum = defaults.momentum } = given[i] ?? {};
      const prefix = all.length > 1 ? `${name}.${group}` : name;
      return [
        [`${prefix}.lr`, lr],
        [`${prefix}.weightDecay`, weightDecay],
        ...(momentum === undefined ? [] : [[`${prefix}.momentum`, momentum]]),
      ];
    });
  });
  return { ...plainOptions(config), ...(Object.fromEntries(groups) as Record<string, Json>) };
}

/** The option is one optimizer, or several by name. */
function optimizerOf(config: Around["config"], name: string): Optimizer {
  const option = config.optimizer as Optimizer | Readonly<Record<string, Optimizer>>;
  const isOne = typeof (option as Optimizer).leaf === "function";
  return isOne ? (option as Optimizer) : (option as Readonly<Record<string, Optimizer>>)[name]!;
}

interface NodeProcess {
  readonly argv: readonly string[];
  readonly version: string;
  readonly platform: string;
  readonly arch: string;
  cwd?(): string;
}

/** Facts for run.json. */
export async function about(around: Around, secrets: readonly string[]): Promise<Record<string, Json>> {
  const { device, paramCount } = around;
  // The config of an experiment has a record of its own.
  const { experiment: _experiment, ...config } = around.config;
  const { process } = globalThis as { process?: NodeProcess };
  const os = builtinOrNone("node:os");
  const git = await gitOf(process?.cwd?.() ?? "");
  return {
    engine: device,
    parameters: paramCount,
    seed: typeof config.seed === "number" ? config.seed : 0,
    options: withoutSecrets(
      { ...config, hooks: Array.isArray(config.hooks) ? config.hooks.map(({ name }: { name: string }) => name) : [] },
      secrets,
    )!,
    ...(process?.argv && {
      command: redactArguments(process.argv, secrets),
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
    }),
    ...(os && { ...thisProcess(), cpus: os.cpus().length, cpu: os.cpus()[0]?.model ?? "", memory: os.totalmem() }),
    ...(git !== undefined && { git }),
  };
}

/** By directory. Git is asked once: the code that runs was loaded then, and starting git takes longer than many steps. */
const asked = new Map<string, Promise<Json | undefined>>();

function gitOf(directory: string): Promise<Json | undefined> {
  const known = asked.get(directory) ?? gitCommit();
  asked.set(directory, known);
  return known;
}

/** The commit of the program's directory, and whether files differ from it; undefined outside a repository. */
async function gitCommit(): Promise<Json | undefined> {
  const child = builtinOrNone("node:child_process");
  if (!child) return undefined;
  const run = (...args: string[]): Promise<string | undefined> =>
    new Promise((resolve) => {
      child.execFile("git", args, { timeout: 2000 }, (error, out) => resolve(error ? undefined : out.trim()));
    });
  const [commit, changes] = await Promise.all([
    run("rev-parse", "HEAD"),
    run("status", "--porcelain", "--untracked-files=no"),
  ]);
  if (commit === undefined) return undefined;
  return { commit, dirty: changes !== undefined && changes !== "" };
}
