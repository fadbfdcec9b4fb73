// Chat templates: programs in Jinja that write a conversation as the model has learned to read it. They come with a model,
// so they are data from outside: what they print is limited here, and how long they run by the thread they run in.
import { DataError } from "../../core/errors.ts";
import { messageOf } from "../../core/maybe.ts";
import { safeLine } from "../../core/safe-text.ts";
import type { Message } from "./messages.ts";

/** Of the package @huggingface/jinja. */
export interface Jinja {
  readonly Template: new (source: string) => { render(items: Readonly<Record<string, unknown>>): string };
}

/** What is rendered. */
export interface Conversation {
  readonly messages: readonly Message[];
  readonly tools?: readonly object[] | undefined;
  readonly addGenerationPrompt?: boolean;
}

/** A rendered conversation. */
export interface Rendered {
  readonly text: string;
  /** The parts in `{% generation %}` as positions in the text; undefined where the template does not mark any. */
  readonly generated: readonly (readonly [from: number, to: number])[] | undefined;
}

/** Noncharacters, which no text has: they stand where the template's `{% generation %}` begins and ends. */
const [BEGIN, END] = ["\uFDD0", "\uFDD1"];
const TAGS = /\{%(-?)\s*(end)?generation\s*(-?)%\}/g;

/** Beyond this and four times the conversation, a template prints without end. */
const MOST_CHARACTERS = 1_000_000;
/** A line of its own, so that whitespace at the beginning of a template is treated as before. */
const PREAMBLE = "{% set range = limited_range %}\n";
/** A list of so many numbers is more than any conversation needs, and many more would end the process. */
const MOST_NUMBERS = 100_000;

export class ChatTemplate {
  readonly source: string;
  readonly #template: InstanceType<Jinja["Template"]>;
  readonly #special: Readonly<Record<string, string>>;
  readonly #marks: boolean;

  /** @param special texts of special tokens by name, which templates print */
  constructor(jinja: Jinja, source: string, special: Readonly<Record<string, string>>) {
    // Statements, not expressions, so that the whitespace around the tags is treated as theirs would be.
    const marked = source.replace(
      TAGS,
      (_, before: string, isEnd: string | undefined, after: string) =>
        `{%${before} if true %}{{ "${isEnd === undefined ? BEGIN : END}" }}{% endif ${after}%}`,
    );
    this.source = source;
    this.#special = special;
    this.#marks = marked !== source;
    try {
      this.#template = new jinja.Template(PREAMBLE + marked);
    } catch (cause) {
      throw new DataError(`The chat template cannot be read: ${reasonOf(cause)}`, { cause });
    }
  }

  render({ messages, tools, addGenerationPrompt = false }: Conversation): Rendered {
    let text: string;
    try {
      text = this.#template.render({
        ...this.#special,
        messages,
        // As in Python: a template may ask whether they are none.
        tools: tools ?? null,
        documents: null,
        add_generation_prompt: addGenerationPrompt,
        limited_range: range,
      });
    } catch (cause) {
      throw new DataError(`The chat template refuses this conversation: ${reasonOf(cause)}`, { cause });
    }
    const most = MOST_CHARACTERS + 4 * (JSON.stringify(messages).length + JSON.stringify(tools ?? null).length);
    if (text.length > most) {
      throw new DataError(
        `The chat template printed ${text.length} characters for this conversation; ${most} are allowed.`,
      );
    }
    return this.#marks ? withoutMarks(text) : { text, generated: undefined };
  }
}

/** A template's own words, in one line and not too many. */
const reasonOf = (cause: unknown): string => safeLine(messageOf(cause)).slice(0, 500);

/** Python's `range`. The package's own would fill the memory. */
function range(...given: readonly number[]): number[] {
  const [from, to, step] = [given.length > 1 ? given[0]! : 0, given[given.length > 1 ? 1 : 0]!, given[2] ?? 1];
  const count = Math.max(0, Math.ceil((to - from) / step));
  if (!(count <= MOST_NUMBERS)) throw new Error(`range of ${count} numbers; ${MOST_NUMBERS} are allowed`);
  return Array.from({ length: count }, (_, i) => from + i * step);
}

function withoutMarks(marked: string): Rendered {
  const generated: [number, number][] = [];
  let [text, from] = ["", 0];
  for (const part of marked.split(/([\uFDD0\uFDD1])/)) {
    if (part === BEGIN) from = text.length;
    else if (part === END) generated.push([from, text.length]);
    else text += part;
  }
  return { text, generated };
}
