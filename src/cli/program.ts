// The list of commands. A command describes its flags and examples in its own file, which is loaded when the command is
// called, so that `hookline --help` needs no more than this list.
import { Command, CommanderError } from "commander";
import type { CommandModule } from "./command.ts";
import { EXIT, UsageError } from "./errors.ts";
import { paint, typed } from "./output.ts";
import { readManifest } from "./package.ts";

interface Listed {
  readonly summary: string;
  load(): Promise<CommandModule>;
}

const COMMANDS: Readonly<Record<string, Listed>> = {
  train: { summary: "Trains the model that a config describes.", load: () => import("./train/train.ts") },
  resume: {
    summary: "Resumes a run that was interrupted, was killed or has failed, or trains a complete one further.",
    load: () => import("./train/resume.ts"),
  },
  unlock: {
    summary: "Removes the lock of a run or a study whose process is gone, if hookline cannot tell that by itself.",
    load: () => import("./unlock.ts"),
  },
  launch: {
    summary: "Starts `train` or `resume` as a process group, with Open MPI's mpirun.",
    load: () => import("./launch/launch.ts"),
  },
  eval: { summary: "Evaluates a model of a run.", load: () => import("./eval.ts") },
  predict: {
    summary: "Runs inference: writes a model's outputs for the rows of a file, or for a part of its own data.",
    load: () => import("./predict/predict.ts"),
  },
  serve: {
    summary: "Answers predictions over HTTP, as JSON.",
    load: () => import("./serve/serve.ts"),
  },
  inspect: {
    summary: "Shows what is in a run, a checkpoint or a file of weights, and checks that it is intact.",
    load: () => import("./inspect.ts"),
  },
  export: {
    summary: "Writes a trained model into a folder that needs no training code, or as ONNX.",
    load: () => import("./export.ts"),
  },
  convert: { summary: "Writes weights in another file format.", load: () => import("./convert.ts") },
  finetune: {
    summary: "Fine-tunes a pretrained language model on a file of examples.",
    load: () => import("./lm/finetune.ts"),
  },
  chat: { summary: "Talks to a language model in the terminal.", load: () => import("./lm/chat.ts") },
  generate: { summary: "Continues a text with a language model.", load: () => import("./lm/generate.ts") },
  lm: {
    summary: "Downloads a language model from the Hugging Face hub, or evaluates one on questions or texts.",
    load: () => import("./lm/lm.ts"),
  },
  merge: {
    summary: "Saves a fine-tuned language model for transformers, or its adapter for PEFT.",
    load: () => import("./lm/merge.ts"),
  },
  hooks: {
    summary:
      "Lists events and built-in hooks, or explains which hooks of a config run at each event, and in which order.",
    load: () => import("./hooks.ts"),
  },
  runs: { summary: "Lists runs: their status, progress and best metrics.", load: () => import("./runs.ts") },
  ui: {
    summary: "Shows runs in a browser, live: curves, hooks, checkpoints, and what was done by hand.",
    load: () => import("./ui.ts"),
  },
  ctl: {
    summary: "Steers a running training or study: pause, step, learning rate, hooks, save, evaluate, roll back, stop.",
    load: () => import("./ctl.ts"),
  },
  tune: {
    summary: "Searches for good hyperparameters: runs the trials that a sweep's file describes.",
    load: () => import("./tune/tune.ts"),
  },
  studies: {
    summary: "Lists studies with their status and best trials, or shows the trials of one.",
    load: () => import("./studies.ts"),
  },
  worker: {
    summary: "Runs trials of a study on this machine, for a controller that uses bullmq().",
    load: () => import("./worker.ts"),
  },
  init: {
    summary: "Writes a small starter project: a config, data, a custom hook and its test.",
    load: () => import("./init/init.ts"),
  },
  doctor: {
    summary: "Checks what hookline can use here: Node, engines, packages, GPU, disk.",
    load: () => import("./doctor.ts"),
  },
};

export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS);

const EXIT_CODES = `Exit codes:
  0               success; a run that a hook stopped is a success too
  1               a run failed
  2               bad input: usage, config, a file that cannot be read
  130, 143, 138   a run was interrupted (Ctrl-C, SIGTERM, SIGUSR1) and stopped cleanly
  129             the same after SIGHUP: its terminal was closed`;

type Part = "run" | "check";

/** Runs the command in `args`; resolves to the exit code. */
export async function runProgram(args: readonly string[]): Promise<number> {
  return (await callPart("run", args)) ?? EXIT.ok;
}

/** Checks the command in `args`; resolves to an exit code if nothing is left to run, as after `--help`. */
export function checkProgram(args: readonly string[]): Promise<number | undefined> {
  return callPart("check", args);
}

async function callPart(part: Part, args: readonly string[]): Promise<number | undefined> {
  let code: number | undefined;
  const [name, next] = args.filter((arg) => !arg.startsWith("-"));
  const called = name === "help" ? next : name;
  const program = await makeProgram(COMMAND_NAMES.includes(called!) ? [called!] : [], (given) => (code = given), part);
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return EXIT.ok;
    // Without a command, help has been shown, which says more than an error.
    if (error.code === "commander.help") return EXIT.badInput;
    throw new UsageError(usageMessage(error.message, args));
  }
  return code;
}

/** Commander's message in our form: one line, and a pointer to help. */
function usageMessage(message: string, [name = ""]: readonly string[]): string {
  const said = message.replace(/^error: /, "").replace(/\n\(Did you mean (.+?)\?\)/, ". Did you mean `$1`?");
  const command = COMMAND_NAMES.includes(name) ? `${name} ` : "";
  return `${said.replaceAll("'", "`").replace(/([^.?])$/, "$1.")} \`${typed(`${command}--help`)}\` shows how it is used.`;
}

/** The program with all commands, of which those in `names` have their flags and can be called. */
export async function makeProgram(
  names: readonly string[],
  exitWith: (code: number | undefined) => void,
  part: Part = "run",
): Promise<Command> {
  const program = new Command("hookline")
    .description("Trains models from a config file, resumes runs, and shows their results.")
    .version(readManifest().version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command")
    .usage("<command> [options]")
    // Flags after the command that `launch` starts belong to that command.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .configureHelp({
      styleTitle: (title) => paint(process.stdout, "bold", title),
      subcommandTerm: (command) => command.name(),
    });
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    const command = program.command(name).description(summary);
    if (names.includes(name)) describe(command, await load(), part, exitWith);
  }
  return program.addHelpText(
    "after",
    `\nExamples:\n  $ hookline init demo && cd demo && npm install && npx hookline train\n  $ hookline train --set optimizer.lr=1e-3\n\n${EXIT_CODES}`,
  );
}

function describe(
  command: Command,
  module: CommandModule,
  part: Part,
  exitWith: (code: number | undefined) => void,
): void {
  const { examples, flags } = module.command;
  flags(command)
    .addHelpText("after", `\nExamples:\n${examples.replaceAll(/^/gm, "  $ hookline ")}`)
    .action(async (...given: unknown[]) => {
      // Commander passes itself last.
      exitWith((await module[part]?.(...(given.slice(0, -1) as never[]))) ?? undefined);
    });
}
