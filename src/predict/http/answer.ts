// What a server answers, without a word about how requests arrive: createPredictHandler and `hookline serve` both use it.
import { DataError } from "../../core/errors.ts";
import { isHostArray, isTypedArray, type HostArray } from "../../core/arrays.ts";
import { checkOptions, is } from "../../core/options.ts";
import { type Answerer, isJson, type ServedAnswer, type ServedRequest, TooLarge } from "../../net/served.ts";
import { printFailure } from "../../platform/print.ts";
import { InputError } from "../input-error.ts";
import type { InputRow, Predictor } from "../types.ts";

/** Options of `createPredictHandler`. */
export interface PredictHandlerOptions {
  /** The largest body in bytes. Default 1 MiB. */
  readonly maxBytes?: number;
  /** The most rows in one request. Default 1,000. */
  readonly maxRows?: number;
  /** Requests are refused with 503 while more rows than this wait. Default 4,096. */
  readonly maxQueue?: number;
  /** Milliseconds until a request that has no answer gets 503. Default 30,000. */
  readonly timeout?: number;
  /** Receives errors of the server's side, which are not sent to the client. Default: `console.error`. */
  readonly onError?: (error: unknown) => void;
}

const CHECKS = {
  maxBytes: is.wholeFrom(1),
  maxRows: is.wholeFrom(1),
  maxQueue: is.wholeFrom(1),
  timeout: is.positive,
  onError: is.function,
};

/** An answer that is an error, thrown from where it is found. */
class Refusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

const JSON_HEADERS = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };
const RETRY = { "retry-after": "1" };

/** The function that answers requests for a predictor: POST predicts; GET describes the model, or its health. */
export function answerer(predict: Predictor<object>, options: PredictHandlerOptions = {}): Answerer {
  checkOptions("createPredictHandler", options, CHECKS);
  const { maxBytes = 2 ** 20, maxRows = 1000, maxQueue = 4096, timeout = 30_000 } = options;
  const onError =
    options.onError ??
    ((error: unknown) => printFailure(error instanceof Error ? (error.stack ?? error.message) : String(error)));

  async function post({ contentType, body, controller }: ServedRequest): Promise<ServedAnswer> {
    if (!isJson(contentType)) throw new Refusal(415, "Send JSON, with the header content-type: application/json.");
    const given = parse(await body(maxBytes).catch(unreadable));
    const rows = Array.isArray(given) ? given.length : 1;
    if (rows > maxRows) throw new Refusal(413, `The request has ${rows} rows; at most ${maxRows} are allowed.`);
    if (rows > 0 && predict.stats.pending + rows > maxQueue)
      throw new Refusal(503, "The server is busy. Retry in a moment.", RETRY);
    // Not AbortSignal.timeout: its timers would outlive thousands of short requests.
    const late = setTimeout(() => {
      controller.abort(new Refusal(503, `The prediction took longer than ${timeout} ms.`, RETRY));
    }, timeout);
    try {
      return answer(200, await predict(given as InputRow, { signal: controller.signal }));
    } finally {
      clearTimeout(late);
    }
  }

  function get(path: string): ServedAnswer {
    const { engine, signature, metrics, stats } = predict;
    if (/\/health\/?$/.test(path)) return answer(200, { status: "ok", pending: stats.pending });
    // The name alone: clients need not know the folders of the server.
    const source = predict.source.replace(/\/$/, "").replace(/^.*\//, "");
    return answer(200, { ...signature, metrics, source, engine, stats });
  }

  return async (request) => {
    try {
      if (request.method === "POST") return await post(request);
      if (request.method === "GET" || request.method === "HEAD") return get(request.path);
      throw new Refusal(405, "POST rows to predict; GET describes the model.", { allow: "GET, HEAD, POST" });
    } catch (error) {
      const { signal } = request.controller;
      // Nobody reads this answer.
      if (signal.aborted && !(error instanceof Refusal))
        return answer(499, { error: { message: "The client has gone." } });
      return refuse(error, maxBytes, onError);
    }
  };
}

function unreadable(error: unknown): never {
  throw error instanceof TooLarge ? error : new Refusal(400, "The body could not be read.");
}

function parse(bytes: Uint8Array): unknown {
  let given: unknown;
  try {
    given = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal(400, "The body is not valid JSON.");
  }
  if (typeof given === "object" && given !== null) return given;
  throw new Refusal(400, "Send one row as an object, or several as an array of objects.");
}

function refuse(error: unknown, maxBytes: number, onError: (error: unknown) => void): ServedAnswer {
  if (error instanceof Refusal) return answer(error.status, { error: { message: error.message } }, error.headers);
  if (error instanceof TooLarge)
    return answer(413, { error: { message: `The body is larger than ${maxBytes} bytes.` } });
  if (error instanceof InputError) {
    const { message, row, column } = error;
    return answer(400, { error: { message, row, ...(column !== undefined && { column }) } });
  }
  if (error instanceof DataError) return answer(400, { error: { message: error.message } });
  onError(error);
  return answer(500, { error: { message: "The model could not be computed. The server's log says why." } });
}

const answer = (status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): ServedAnswer => ({
  status,
  headers: { ...JSON_HEADERS, ...headers },
  body: JSON.stringify(value, plain),
});

/** Tensors as nested lists. */
function plain(_key: string, value: unknown): unknown {
  if (isTypedArray(value)) return Array.from(value);
  return isHostArray(value) ? nested(value) : value;
}

function nested({ data, shape }: HostArray): unknown {
  if (shape.length <= 1) return shape.length === 0 ? data[0] : Array.from(data);
  const [size = 0, ...rest] = shape;
  const step = data.length / size;
  return Array.from({ length: size }, (_, i) => nested({ data: data.subarray(i * step, (i + 1) * step), shape: rest }));
}
