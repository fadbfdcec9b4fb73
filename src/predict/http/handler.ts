// A predictor behind the web's own Request and Response: for hono, Next.js, Bun, Deno and workers.
import { fetchHandler } from "../../net/served.ts";
import type { Predictor } from "../types.ts";
import { answerer, type PredictHandlerOptions } from "./answer.ts";

/**
 * A fetch handler for a predictor. POST one row or an array of rows as JSON; GET describes the model, and GET of a path
 * that ends in `/health` says whether it answers.
 * @example export const POST = createPredictHandler(await loadPredictor("runs/churn"));
 */
export const createPredictHandler = (
  predict: Predictor<object>,
  options: PredictHandlerOptions = {},
): ((request: Request) => Promise<Response>) => fetchHandler(answerer(predict, options));
