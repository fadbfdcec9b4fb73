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

/** Mixed precision is for an engine that has it. */
export function checkPrecision(precision: Precision | undefined, engine: EngineName | Engine = "auto"): void {
  const own = typeof engine === "object" ? (engine.precision ?? "float32") : undefined;
  if (precision === undefined || own === precision || (!own && (precision === "float32" || engine === "xla"))) return;
  const problem =
    own === undefined
      ? `only the engine "xla" has \`precision: "bf16"\`, and \`engine\` is "${engine as string}". Set engine: "xla" on a machine with a GPU, or leave \`precision\` out.`
      : `\`precision\` is "${precision}", but the engine was created with "${own}". Create it with \`new XlaEngine({ precision: "${precision}" })\`, or leave \`precision\` out.`;
  throw new OptionError(`Trainer: ${problem}`, { option: "precision" });
}

/** An engine that finds something worth telling tells it to `warn`. */
export async function selectEngine(
  engine: EngineName | Engine,
  warn?: Warn,
  precision: Precision = "float32",
): Promise<Engine> {
  if (typeof engine === "object") return engine;
  if (engine !== "auto") return create(engine, warn, precision);
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

async function create(name: Exclude<EngineName, "auto">, warn?: Warn, precision?: Precision): Promise<Engine> {
  if (name !== "native" && name !== "xla") return JaxEngine.create(name);
  if (typeof (globalThis as { process?: { getBuiltinModule?: unknown } }).process?.getBuiltinModule !== "function") {
    throw new EngineError(`Engine "${name}" runs in Node. Use engine: "auto", "wasm" or "webgpu" here.`);
  }
  // Only for Node: package.json ("browser") leaves them out of browsers' bundles.
  if (name === "xla") {
    const { XlaEngine } = await import("./xla/xla-engine.ts");
    return new XlaEngine({ ...(precision && { precision }), ...(warn && { warn }) });
  }
  const { NativeEngine } = await import("./native/native-engine.ts");
  return new NativeEngine(warn ? { warn } : {});
}
