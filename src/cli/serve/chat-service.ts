// What a server answers for a language model.
import { chatAnswerer, type ChatHandlerOptions } from "../../lm/serve/chat-handler.ts";
import type { TextGenerator } from "../../lm/generate/generator.ts";
import type { Service } from "./server.ts";

export const chatService = (writer: TextGenerator, options: ChatHandlerOptions): Service => ({
  answer: chatAnswerer(writer, options),
  paths: new Set(["/", "/health", "/v1/models", "/v1/chat/completions", "/v1/completions"]),
  hint: "POST to /v1/chat/completions or /v1/completions; GET /v1/models names the model, GET /health its health.",
});
