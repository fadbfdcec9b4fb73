// Which engine runs: by name, or the best one present.
import { EngineError, OptionError } from "../core/errors.ts";
import { show } from "../core/options.ts";
import { didYouMean } from "../core/suggest.ts";
import type { Engine } from "./engine.ts";
import { JaxEngine } from "./jax/jax-engine.ts";

export const ENGINE_NAMES = ["auto", "wasm", "webgpu"] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];

export function checkEngine(engine: unknown): void {
  if (typeof engine === "object" && engine !== null && typeof (engine as Engine).jit === "function") return;
  if (typeof engine === "string" && (ENGINE_NAMES as readonly string[]).includes(engine)) return;
  const hint = typeof engine === "string" ? didYouMean(engine, ENGINE_NAMES) : "";
  throw new OptionError(
    `Trainer: Expected \`engine\` to be ${ENGINE_NAMES.map((n) => `"${n}"`).join(", ")} or an Engine, got ${show(engine)}.${hint}`,
    { option: "engine" },
  );
}

export async function selectEngine(engine: EngineName | Engine): Promise<Engine> {
  if (typeof engine === "object") return engine;
  if (engine !== "auto") return JaxEngine.create(engine);
  try {
    return await JaxEngine.create("webgpu");
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return JaxEngine.create("wasm");
  }
}
