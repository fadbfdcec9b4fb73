// Answers in the form of OpenAI's interface: whole, or as a stream of events.
import type { Continuation } from "../generate/continuation.ts";

export interface Reply {
  readonly kind: "chat" | "text";
  readonly model: string;
  readonly continuation: Continuation;
}

/** What is the same in an answer and in all pieces of it. */
function headOf({ kind, model }: Reply, isPiece: boolean) {
  const id = `${kind === "chat" ? "chatcmpl" : "cmpl"}-${crypto.randomUUID().replaceAll("-", "")}`;
  const object = kind === "text" ? "text_completion" : isPiece ? "chat.completion.chunk" : "chat.completion";
  return { id, object, created: Math.floor(Date.now() / 1000), model };
}

function usageOf({ prompt, ids }: Continuation): object {
  const [before, after] = [prompt.length, ids.length];
  return { prompt_tokens: before, completion_tokens: after, total_tokens: before + after };
}

export async function wholeReply(reply: Reply): Promise<object> {
  const { kind, continuation } = reply;
  let text = "";
  for await (const piece of continuation.pieces()) text += piece;
  const content = kind === "chat" ? { message: { role: "assistant", content: text } } : { text };
  const choice = { index: 0, ...content, logprobs: null, finish_reason: continuation.finish };
  return { ...headOf(reply, false), choices: [choice], usage: usageOf(continuation) };
}

/** Events of a stream. `failed` describes an error, which comes as the last event: the status is sent already. */
export async function* streamedReply(
  reply: Reply,
  includeUsage: boolean,
  failed: (error: unknown) => object,
): AsyncGenerator<string> {
  const { kind, continuation } = reply;
  const head = headOf(reply, true);
  const usage = includeUsage ? { usage: null } : {};
  const piece = (delta: object, finish: string | null = null): string =>
    event({ ...head, choices: [{ index: 0, ...delta, logprobs: null, finish_reason: finish }], ...usage });
  const said = (text: string): object => (kind === "chat" ? { delta: { content: text } } : { text });
  try {
    if (kind === "chat") yield piece({ delta: { role: "assistant", content: "" } });
    for await (const text of continuation.pieces()) yield piece(said(text));
    yield piece(kind === "chat" ? { delta: {} } : { text: "" }, continuation.finish);
    if (includeUsage) yield event({ ...head, choices: [], usage: usageOf(continuation) });
    yield "data: [DONE]\n\n";
  } catch (error) {
    yield event(failed(error));
  } finally {
    continuation.cancel();
  }
}

const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
