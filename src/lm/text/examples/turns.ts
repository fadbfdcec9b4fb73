// Which part of a rendered conversation counts in the loss: what the assistant said, up to the token that ends its turn.
import { DataError } from "../../../core/errors.ts";
import type { ChatTemplate } from "../chat-template.ts";
import type { Message } from "../messages.ts";

/** Which labels count: every answer, the last answer, or all tokens. */
export type Counting = "assistant" | "last" | "all";

/** A part of a text. */
interface Piece {
  readonly text: string;
  readonly counts: boolean;
}

/** One text to learn, in its pieces; from a conversation there may be several. */
export type Pieces = readonly Piece[];

interface Settings {
  readonly template: ChatTemplate;
  readonly tools: readonly object[] | undefined;
  readonly loss: Counting;
  /** The first messages, whose answers do not count: they are a prompt. */
  readonly promptLength: number;
  endsSpecial(text: string): boolean;
}

/** A turn of the assistant within a text. */
interface Turn {
  readonly from: number;
  readonly to: number;
}

export function piecesOf(messages: readonly Message[], settings: Settings): readonly Pieces[] {
  const { template, tools, loss, promptLength } = settings;
  const whole = template.render({ messages, tools });
  if (loss === "all") return [[{ text: whole.text, counts: true }]];
  const answers = messages.flatMap(({ role }, i) => (role === "assistant" && i >= promptLength ? [i] : []));
  if (answers.length === 0) throw new DataError("no message of the assistant: nothing to learn.");
  const counted = loss === "last" ? answers.slice(-1) : answers;
  if (whole.generated !== undefined) {
    const turns = whole.generated.slice(-counted.length).map(([from, to]) => ({ from, to }));
    if (turns.length === 0) throw new DataError("the chat template marks nothing of it with {% generation %}.");
    return [cut(whole.text, turns, settings)];
  }
  const texts = counted.map((i) => textsOf(messages, i, settings));
  // A template may write an earlier turn otherwise once it is followed by another, without its thoughts for example.
  // Then no single text shows each answer as it was given, and every answer becomes an example of its own.
  if (texts.some(({ through }) => !whole.text.startsWith(through)))
    return texts.map(({ through, from }) => cut(through, [{ from, to: through.length }], settings));
  const turns = texts.map(({ through, from }) => ({ from, to: through.length }));
  return [cut(whole.text, turns, settings)];
}

/** The conversation through answer `i`, and where that answer begins: after all that the model is given. */
function textsOf(
  messages: readonly Message[],
  i: number,
  { template, tools }: Settings,
): { through: string; from: number } {
  const render = (count: number, addGenerationPrompt: boolean): string =>
    template.render({ messages: messages.slice(0, count), tools, addGenerationPrompt }).text;
  const [given, through] = [render(i, true), render(i + 1, false)];
  const from = commonLength(given, through);
  // A prompt may end with what the answer does not have, such as the beginning of a thought.
  if (from < given.length && from < render(i, false).length) {
    throw new DataError(
      `the chat template writes the messages before answer ${i} otherwise when that answer follows, so where it begins is unknown. Give the data as \`prompt\` and \`completion\`, or a template with {% generation %}.`,
    );
  }
  return { through, from };
}

function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

/** The text in pieces. What no answer needs any more is left out at its end. */
function cut(text: string, turns: readonly Turn[], { endsSpecial }: Settings): Pieces {
  const pieces: Piece[] = [];
  let at = 0;
  const add = (to: number, counts: boolean): void => {
    if (to > at) pieces.push({ text: text.slice(at, to), counts });
    at = Math.max(at, to);
  };
  for (const { from, to } of turns) {
    add(from, false);
    // Templates put a line end behind the token that ends a turn. Nobody reads it, so it is not learned.
    const trimmed = text.slice(at, to).trimEnd();
    add(endsSpecial(trimmed) ? at + trimmed.length : to, true);
  }
  return pieces;
}
