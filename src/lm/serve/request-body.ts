// What a client asks for: the body of a request of OpenAI's interface, checked.
import { DataError } from "../../core/errors.ts";
import { is, show, type Check } from "../../core/options.ts";
import type { GenerateOptions, Prompt } from "../generate/options.ts";
import { checkMessages, type Message } from "../text/messages.ts";
import { Refusal } from "./refusal.ts";

export interface Asked {
  readonly prompt: Prompt;
  readonly options: GenerateOptions;
  readonly stream: boolean;
  /** The last piece of a stream counts the tokens. */
  readonly includeUsage: boolean;
}

const CHECKS: Readonly<Record<string, Check>> = {
  model: is.string,
  stream: is.boolean,
  stream_options: is.object,
  max_tokens: is.wholeFrom(1),
  max_completion_tokens: is.wholeFrom(1),
  temperature: is.between(0, 2),
  top_p: is.between(0, 1),
  seed: is.whole,
  stop: is.or(is.name, is.arrayOf(is.name)),
  n: is.whole,
};

/** What would change the answer, and is not done here. Their neutral values are fine. */
const MISSING: Readonly<Record<string, readonly unknown[]>> = {
  tools: [],
  functions: [],
  logprobs: [false],
  top_logprobs: [0],
  logit_bias: [],
  frequency_penalty: [0],
  presence_penalty: [0],
  best_of: [1],
  echo: [false],
  suffix: [""],
  audio: [],
};
const MOST_STOPS = 4;
const MOST_SEED = 2 ** 32;

/** `served` is the name of the model, `most` the limit of tokens. */
export function readRequest(kind: "chat" | "text", bytes: Uint8Array, served: string, most: number): Asked {
  const body = parse(bytes);
  for (const [name, check] of Object.entries(CHECKS)) {
    const value = body[name];
    if (value !== undefined && !check.test(value))
      throw bad(name, `\`${name}\` must be ${check.expected}, got ${show(value)}.`);
  }
  for (const [name, neutral] of Object.entries(MISSING))
    if (body[name] !== undefined && !neutral.includes(body[name]) && !isEmpty(body[name]))
      throw bad(name, `\`${name}\` is not supported.`);
  const format = (body.response_format as { type?: unknown } | undefined)?.type ?? "text";
  if (format !== "text") throw bad("response_format", "`response_format` may only be text.");
  if ((body.n ?? 1) !== 1) throw bad("n", "`n` may only be 1.");
  if (body.model !== undefined && body.model !== served)
    throw new Refusal(404, `There is no model \`${body.model as string}\` here, only \`${served}\`.`, {
      param: "model",
      code: "model_not_found",
    });
  const prompt = kind === "chat" ? messagesIn(body.messages) : promptIn(body.prompt);
  return { prompt, options: optionsIn(body, most), stream: body.stream === true, includeUsage: wantsUsage(body) };
}

function parse(bytes: Uint8Array): Record<string, unknown> {
  let given: unknown;
  try {
    given = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal(400, "The body is not valid JSON.");
  }
  if (!is.object.test(given)) throw new Refusal(400, "Send an object.");
  // The interface's clients send null for what is not set.
  return Object.fromEntries(Object.entries(given as object).filter(([, value]) => value !== null));
}

const bad = (param: string, message: string): Refusal => new Refusal(400, message, { param });

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

const wantsUsage = ({ stream_options: options }: Record<string, unknown>): boolean =>
  (options as { include_usage?: unknown } | undefined)?.include_usage === true;

function optionsIn(body: Record<string, unknown>, most: number): GenerateOptions {
  const field = body.max_completion_tokens === undefined ? "max_tokens" : "max_completion_tokens";
  const given = body as { temperature?: number; top_p?: number; seed?: number; stop?: string | string[] };
  const asked = body[field] as number | undefined;
  if (asked !== undefined && asked > most) throw bad(field, `\`${field}\` is ${asked}; at most ${most} are allowed.`);
  if (Array.isArray(given.stop) && given.stop.length > MOST_STOPS)
    throw bad("stop", `\`stop\` has ${given.stop.length} texts; at most ${MOST_STOPS} are allowed.`);
  return {
    ...(asked !== undefined && { maxTokens: asked }),
    ...(given.temperature !== undefined && { temperature: given.temperature }),
    ...(given.top_p !== undefined && { topP: given.top_p }),
    ...(given.stop !== undefined && { stop: given.stop }),
    // Clients that name none expect another text each time.
    seed: given.seed ?? Math.floor(Math.random() * MOST_SEED),
  };
}

function messagesIn(value: unknown): readonly Message[] {
  const plain = Array.isArray(value) ? value.map(withText) : value;
  try {
    return checkMessages(plain, "messages", "");
  } catch (error) {
    if (error instanceof DataError) throw bad("messages", error.message);
    throw error;
  }
}

/** The content of a message may come in parts. */
function withText(message: unknown): unknown {
  const content = (message as { content?: unknown } | null)?.content;
  if (!Array.isArray(content)) return message;
  const texts = content.map((part) => (part as { type?: unknown; text?: unknown } | null) ?? {});
  const odd = texts.find(({ type, text }) => type !== "text" || typeof text !== "string");
  if (odd) throw bad("messages", `A part of a message is ${show(odd.type)}: this model reads text only.`);
  return { ...(message as object), content: texts.map(({ text }) => text as string).join("") };
}

function promptIn(value: unknown): Prompt {
  const [only, ...others] = Array.isArray(value) && typeof value[0] !== "number" ? (value as unknown[]) : [value];
  const isIds = Array.isArray(only) && only.every((id) => Number.isSafeInteger(id));
  if (others.length === 0 && (typeof only === "string" || isIds)) return only as Prompt;
  throw bad("prompt", "`prompt` must be one text, or the ids of one.");
}
