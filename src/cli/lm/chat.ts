// hookline chat: talks to a language model in the terminal.
import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { generate } from "../../lm/generate/generate.ts";
import type { GenerateOptions } from "../../lm/generate/options.ts";
import type { Message } from "../../lm/text/messages.ts";
import { printOut } from "../../platform/print.ts";
import type { Trainer } from "../../trainer/trainer.ts";
import type { CommandDescription } from "../command.ts";
import { UsageError } from "../errors.ts";
import { paint, say, typed } from "../output.ts";
import { messageOf } from "../../core/maybe.ts";
import { generateOptions, generationFlags, type GenerationFlags } from "./generation-flags.ts";
import { openModel } from "./open-model.ts";

export const command: CommandDescription = {
  examples: `chat runs/support
chat models/SmolLM2-135M-Instruct --system "You answer in one sentence."
chat runs/support --checkpoint last --temperature 0.7`,
  flags: (program: Command) =>
    generationFlags(
      program
        .argument("<model>", "a run of finetune, the folder of a model, or that of an adapter")
        .option("--system <text>", "a message of the system before the conversation"),
    ),
};

interface Flags extends GenerationFlags {
  readonly system?: string;
}

const HELP =
  "/reset begins again, /system <text> sets the system's message, /exit or Ctrl-D ends. Ctrl-C stops an answer.";

export async function run(given: string, flags: Flags): Promise<void> {
  const { model, trainer, from } = await openModel(given, flags);
  try {
    if (model.tokenizer.chatTemplate === undefined)
      throw new UsageError(
        `${from} has no chat template. \`${typed(`generate ${given} --prompt …`)}\` continues a text.`,
      );
    say(paint(process.stderr, "dim", `Talking to ${from}. ${HELP}`));
    await talk(trainer, generateOptions(flags), flags.system);
  } finally {
    await trainer.close();
  }
}

async function talk(trainer: Trainer, options: GenerateOptions, system: string | undefined): Promise<void> {
  const input = createInterface({ input: process.stdin, output: process.stderr, terminal: process.stdin.isTTY });
  const conversation = new Conversation(system);
  let answering: AbortController | undefined;
  const interrupt = (): void => {
    if (answering) answering.abort();
    else input.close();
  };
  input.on("SIGINT", interrupt);
  // While an answer is written, the terminal sends the signal to the process.
  process.on("SIGINT", interrupt);
  try {
    // What comes from a pipe is not typed, and its answers are for another program.
    const ask = (): void => {
      if (process.stdin.isTTY) input.prompt();
    };
    input.setPrompt("> ");
    ask();
    for await (const line of input) {
      if (line.trim() === "/exit") break;
      if (!conversation.command(line) && line.trim() !== "") {
        answering = new AbortController();
        await answer(trainer, conversation, line, { ...options, signal: answering.signal });
        answering = undefined;
      }
      ask();
    }
  } finally {
    process.off("SIGINT", interrupt);
    input.close();
  }
}

class Conversation {
  messages: Message[] = [];
  #system: string | undefined;

  constructor(system: string | undefined) {
    this.#system = system;
    this.#reset();
  }

  #reset(): void {
    this.messages = this.#system === undefined ? [] : [{ role: "system", content: this.#system }];
  }

  /** Whether the line was a command. */
  command(line: string): boolean {
    const [name, ...rest] = line.trim().split(" ");
    if (!name?.startsWith("/")) return false;
    if (name === "/reset") this.#reset();
    else if (name === "/system") {
      this.#system = rest.join(" ").trim() || undefined;
      this.#reset();
    } else {
      say(HELP);
      return true;
    }
    const system =
      this.#system === undefined ? "without a message of the system" : `with the system's message “${this.#system}”`;
    say(paint(process.stderr, "dim", `A new conversation, ${system}.`));
    return true;
  }
}

/** What was said until it was stopped stays in the conversation. */
async function answer(
  trainer: Trainer,
  conversation: Conversation,
  line: string,
  options: GenerateOptions,
): Promise<void> {
  const before = conversation.messages;
  const asked = [...before, { role: "user", content: line }];
  let text = "";
  try {
    for await (const piece of generate(trainer, asked, options)) {
      text += piece;
      printOut(piece, false);
    }
  } catch (error) {
    if (!options.signal!.aborted) {
      // Such as a conversation that has become too long: the next line may be a command.
      say(`${paint(process.stderr, "red", "error:")} ${messageOf(error)}`);
      return;
    }
  }
  printOut("\n", false);
  if (text.trim() !== "") conversation.messages = [...asked, { role: "assistant", content: text }];
}
