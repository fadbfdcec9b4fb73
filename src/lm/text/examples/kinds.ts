// What one line of a file of examples may be. The keys tell the kind, and one file has one kind.
import { DataError } from "../../../core/errors.ts";
import { distance, nearest } from "../../../core/names.ts";
import { is, show } from "../../../core/options.ts";
import { checkMessages, type Message } from "../messages.ts";

/** A text, or a conversation. */
export type Prompt = string | readonly Message[];

/** One line, checked. */
export type Example =
  | { readonly kind: "messages"; readonly messages: readonly Message[]; readonly tools?: readonly object[] }
  | {
      readonly kind: "completion";
      readonly prompt: Prompt;
      readonly completion: Prompt;
      readonly tools?: readonly object[];
    }
  | {
      readonly kind: "preference";
      readonly prompt: Prompt;
      readonly chosen: Prompt;
      readonly rejected: Prompt;
      readonly tools?: readonly object[];
    }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "ids"; readonly ids: readonly number[]; readonly labels?: readonly number[] };

/** What the lines of a file are, by their keys. */
export type ExampleKind = Example["kind"];

interface Keys {
  readonly required: readonly string[];
  readonly optional: readonly string[];
  readonly looksLike: string;
}

const KINDS: Readonly<Record<ExampleKind, Keys>> = {
  messages: {
    required: ["messages"],
    optional: ["tools"],
    looksLike: '{"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]}',
  },
  preference: {
    required: ["prompt", "chosen", "rejected"],
    optional: ["tools"],
    looksLike: '{"prompt": "…", "chosen": "…", "rejected": "…"}',
  },
  completion: {
    required: ["prompt", "completion"],
    optional: ["tools"],
    looksLike: '{"prompt": "…", "completion": "…"}',
  },
  text: { required: ["text"], optional: [], looksLike: '{"text": "…"}' },
  ids: { required: ["ids"], optional: ["labels"], looksLike: '{"ids": [1, 2, 3]}' },
};

/** Keys that tell the kind, the telling ones first. */
const TELLING: Readonly<Record<string, ExampleKind>> = {
  messages: "messages",
  chosen: "preference",
  rejected: "preference",
  completion: "completion",
  prompt: "completion",
  text: "text",
  ids: "ids",
};

/** What other tools call them. */
const ALIASES: Readonly<Record<string, string>> = {
  conversations: "messages",
  conversation: "messages",
  instruction: "prompt",
  question: "prompt",
  response: "completion",
  output: "completion",
  answer: "completion",
  input_ids: "ids",
  tokens: "ids",
  content: "text",
};

type Fields = Readonly<Record<string, unknown>>;

const quoted = (keys: readonly string[]): string => keys.map((key) => `\`${key}\``).join(", ");

export function kindOf(fields: Fields): ExampleKind {
  const telling = Object.keys(TELLING).find((key) => Object.hasOwn(fields, key));
  if (telling !== undefined) return TELLING[telling]!;
  const keys = Object.keys(fields);
  const known = Object.keys(TELLING);
  for (const key of keys) {
    const meant = ALIASES[key.toLowerCase()] ?? nearest(key, known);
    if (meant === undefined) continue;
    const kind = KINDS[TELLING[meant]!];
    throw new DataError(`unknown keys ${quoted(keys)}. Did you mean \`${meant}\` for \`${key}\`? ${kind.looksLike}`);
  }
  const forms = Object.values(KINDS).map(({ required }) => required.join(" + "));
  throw new DataError(`unknown keys ${quoted(keys) || "(none)"}. Expected ${forms.join(", or ")}.`);
}

/** @param template of the conversation, which may name further roles */
export function checkExample(value: unknown, expected: ExampleKind | undefined, template: string): Example {
  if (!is.object.test(value)) throw new DataError(`expected an object such as {"text": "…"}, got ${show(value)}.`);
  const fields = value as Fields;
  const kind = kindOf(fields);
  if (expected !== undefined && kind !== expected) {
    throw new DataError(
      `this line is of the kind ${KINDS[kind].required.join(" + ")}, and the first one of ${KINDS[expected].required.join(" + ")}. Put them into files of their own.`,
    );
  }
  checkKeys(fields, KINDS[kind]);
  if (kind === "text") return { kind, text: textIn(fields, "text") };
  if (kind === "ids") return idsIn(fields);
  const tools = toolsIn(fields);
  if (kind === "messages") return { kind, messages: checkMessages(fields.messages, "`messages`", template), ...tools };
  const prompt = (key: string): Prompt => promptIn(fields, key, template);
  if (kind === "completion")
    return alike({ kind, prompt: prompt("prompt"), completion: prompt("completion"), ...tools });
  return alike({ kind, prompt: prompt("prompt"), chosen: prompt("chosen"), rejected: prompt("rejected"), ...tools });
}

function checkKeys(fields: Fields, { required, optional, looksLike }: Keys): void {
  const known = [...required, ...optional];
  const others = Object.keys(fields).filter((key) => !known.includes(key));
  const missing = required.find((key) => !Object.hasOwn(fields, key));
  if (missing !== undefined) {
    const near = others.find((key) => ALIASES[key] === missing || nearest(key, [missing]) !== undefined);
    const help = near === undefined ? ` Expected ${looksLike}` : ` Did you mean \`${missing}\` for \`${near}\`?`;
    throw new DataError(`\`${missing}\` is missing.${help}`);
  }
  // Other keys, such as the source of an example, are the user's own; a misspelt one would be ignored in silence.
  const typo = others.find((key) => known.some((name) => name.length > 3 && distance(key.toLowerCase(), name) === 1));
  if (typo !== undefined) throw new DataError(`unknown key \`${typo}\`. Did you mean \`${nearest(typo, known)}\`?`);
}

function textIn(fields: Fields, key: string): string {
  const value = fields[key];
  if (typeof value !== "string") throw new DataError(`\`${key}\` is ${show(value)}. Expected a string.`);
  if (value.trim() === "") throw new DataError(`\`${key}\` is empty.`);
  return value;
}

const promptIn = (fields: Fields, key: string, template: string): Prompt =>
  Array.isArray(fields[key]) ? checkMessages(fields[key], `\`${key}\``, template) : textIn(fields, key);

/** All are texts, or all are lists of messages. */
function alike<E extends Example>(example: E): E {
  const prompts = Object.entries(example).filter(([key]) => !["kind", "tools"].includes(key));
  const odd = prompts.find(([, value]) => typeof value !== typeof prompts[0]![1]);
  if (odd === undefined) return example;
  throw new DataError(`\`${prompts[0]![0]}\` and \`${odd[0]}\` must both be strings, or both be lists of messages.`);
}

function toolsIn({ tools }: Fields): { readonly tools?: readonly object[] } {
  if (tools === undefined || tools === null) return {};
  if (!Array.isArray(tools) || !tools.every(is.object.test)) {
    throw new DataError(`\`tools\` is ${show(tools)}. Expected a list of objects that describe functions.`);
  }
  return tools.length === 0 ? {} : { tools: tools as readonly object[] };
}

function idsIn({ ids, labels }: Fields): Example {
  const check = (key: string, value: unknown): readonly number[] => {
    if (Array.isArray(value) && value.every(Number.isSafeInteger)) return value as number[];
    throw new DataError(`\`${key}\` is ${show(value)}. Expected a list of whole numbers.`);
  };
  const checked = check("ids", ids);
  if (labels === undefined || labels === null) return { kind: "ids", ids: checked };
  const checkedLabels = check("labels", labels);
  if (checkedLabels.length === checked.length) return { kind: "ids", ids: checked, labels: checkedLabels };
  throw new DataError(
    `\`ids\` has ${checked.length} numbers and \`labels\` ${checkedLabels.length}. Give the label of each token itself: the next one is found here.`,
  );
}
