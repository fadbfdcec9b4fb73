// A predictor behind the web's own Request and Response: for hono, Next.js, Bun, Deno and workers.
import { joinBytes } from "../../checkpoint/formats/tensor.ts";
import type { Predictor } from "../types.ts";
import { answerer, type PredictHandlerOptions, TooLarge } from "./answer.ts";

/**
 * A fetch handler for a predictor. POST one row or an array of rows as JSON; GET describes the model, and GET of a path
 * that ends in `/health` says whether it answers.
 * @example export const POST = createPredictHandler(await loadPredictor("runs/churn"));
 */
export function createPredictHandler(
  predict: Predictor<object>,
  options: PredictHandlerOptions = {},
): (request: Request) => Promise<Response> {
  const answer = answerer(predict, options);
  return async (request) => {
    const controller = new AbortController();
    const gone = (): void => controller.abort(request.signal.reason);
    request.signal.addEventListener("abort", gone, { once: true });
    const { status, headers, body } = await answer({
      method: request.method,
      path: new URL(request.url).pathname,
      contentType: request.headers.get("content-type") ?? "",
      body: (maxBytes) => readBody(request, maxBytes),
      controller,
    });
    request.signal.removeEventListener("abort", gone);
    return new Response(request.method === "HEAD" ? null : body, { status, headers });
  };
}

/** Stops reading as soon as the limit is passed: a length that the client states is not trusted. */
async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = request.body?.getReader();
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
    bytes += next.value.length;
    if (bytes > maxBytes) {
      await reader!.cancel();
      throw new TooLarge();
    }
    chunks.push(next.value);
  }
  return joinBytes(chunks);
}
