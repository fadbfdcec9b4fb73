// Which engine runs: by name, or the best one present.
import { EngineError, OptionError } from "../core/errors.ts";
import { show } from "../core/options.ts";
import { didYouMean } from "../core/names.ts";
import type { Engine, Precision } from "./engine.ts";
import { JaxEngine } from "./jax/jax-engine.ts";

export const ENGINE_NAMES = ["auto", "native", "wasm", "webgpu", "xla"] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];
type Warn = (message: string) => void;

export function checkEngine(engine: unknown): void {
  if (typeof engine === "object" && engine !== null && typeof (engine as Engine).jit === "function") return;
  if (typeof engine === "string" && (ENGINE_NAMES as readonly string[]).includes(engine)) return;
  const hint = typeof engine === "string" ? didYouMean(engine, ENGINE_NAMES) : "";
  throw new OptionError(
    `Trainer: Expected \`engine\` to be ${ENGINE_NAMES.map((n) => `"${n}"`).join(", ")} or an Engine, got ${show(engine)}.${hint}`,
    { option: "engine" },
  );
}

/** What the trainer asks of an engine that it creates. Only xla has other than the defaults. */
export interface EngineOptions {
  readonly precision?: Precision | undefined;
  readonly devices?: number | undefined;
}

const DEFAULTS = { precision: "float32", devices: 1 } as const;

/** Mixed precision and several devices are for an engine that has them. */
export function checkEngineOptions(options: EngineOptions, engine: EngineName | Engine = "auto"): void {
  for (const option of ["precision", "devices"] as const) {
    const wanted = options[option];
    const own = typeof engine === "object" ? (engine[option] ?? DEFAULTS[option]) : undefined;
    if (wanted === undefined || own === wanted || (!own && (wanted === DEFAULTS[option] || engine === "xla"))) continue;
    const [asked, has] = [JSON.stringify(wanted), JSON.stringify(own)];
    const problem =
      own === undefined
        ? `only the engine "xla" has \`${option}: ${asked}\`, and \`engine\` is "${engine as string}". Set engine: "xla" on a machine with a GPU, or leave \`${option}\` out.`
        : `\`${option}\` is ${asked}, but the engine was created with ${has}. Create it with \`new XlaEngine({ ${option}: ${asked} })\`, or leave \`${option}\` out.`;
    throw new OptionError(`Trainer: ${problem}`, { option });
  }
}

/** An engine that finds something worth telling tells it to `warn`. */
export async function selectEngine(
  engine: EngineName | Engine,
  warn?: Warn,
  options: EngineOptions = {},
): Promise<Engine> {
  if (typeof engine === "object") return engine;
  if (engine !== "auto") return create(engine, warn, options);
  for (const name of ["native", "webgpu"] as const) {
    try {
      return await create(name, warn);
    } catch (error) {
      // Not available here; asking for it by name says why.
      if (!(error instanceof EngineError)) throw error;
    }
  }
  return create("wasm", warn);
}

async function create(name: Exclude<EngineName, "auto">, warn?: Warn, options: EngineOptions = {}): Promise<Engine> {
  if (name !== "native" && name !== "xla") return JaxEngine.create(name);
  if (typeof (globalThis as { process?: { getBuiltinModule?: unknown } }).process?.getBuiltinModule !== "function") {
    throw new EngineError(`Engine "${name}" runs in Node. Use engine: "auto", "wasm" or "webgpu" here.`);
  }
  // Only for Node: package.json ("browser") leaves them out of browsers' bundles.
  if (name === "xla") {
    const { XlaEngine } = await import("./xla/xla-engine.ts");
    const { precision = DEFAULTS.precision, devices = DEFAULTS.devices } = options;
    return new XlaEngine({ precision, devices, ...(warn && { warn }) });
  }
  const { NativeEngine } = await import("./native/native-engine.ts");
  return new NativeEngine(warn ? { warn } : {});
}
