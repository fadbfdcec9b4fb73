// What a server answers for a language model, and which folders are one.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { chatAnswerer, type ChatHandlerOptions } from "../../lm/serve/chat-handler.ts";
import type { TextGenerator } from "../../lm/generate/generator.ts";
import { FORMATS } from "../../runs/layout.ts";
import { readRecord } from "../train/run-directory.ts";
import type { Service } from "./server.ts";

export const chatService = (writer: TextGenerator, options: ChatHandlerOptions): Service => ({
  answer: chatAnswerer(writer, options),
  paths: new Set(["/", "/health", "/v1/models", "/v1/chat/completions", "/v1/completions"]),
  hint: "POST to /v1/chat/completions or /v1/completions; GET /v1/models names the model, GET /health its health.",
});

/** The folder of a model, that of an adapter, or a run that has trained one. */
export function isLanguageModel(path: string): boolean {
  if (existsSync(join(path, "adapter_config.json"))) return true;
  const config = join(path, "config.json");
  if (existsSync(config)) return /"model_type"/.test(readFileSync(config, "utf8"));
  if (!existsSync(join(path, FORMATS.experiment.file))) return false;
  const { model } = readRecord(path).raw as { readonly model?: { readonly use?: unknown } };
  return model?.use === "lm";
}
