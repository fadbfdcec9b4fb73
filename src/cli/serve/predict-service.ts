// What a server answers for a predictor.
import { answerer, type PredictHandlerOptions } from "../../predict/http/answer.ts";
import type { Predictor } from "../../predict/types.ts";
import type { Service } from "./server.ts";

export const predictService = (predict: Predictor<object>, limits: PredictHandlerOptions): Service => ({
  answer: answerer(predict, limits),
  paths: new Set(["/", "/predict", "/health"]),
  hint: "POST rows to /predict; GET / describes the model, GET /health its health.",
});
