// All commands with their flags and examples, in one place: this is the surface that people and scripts rely on.
// A command's body is a file of its own, loaded when the command is called, so that help comes at once.
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { EXIT, UsageError } from "./lib/exit.ts";
import { typed } from "./lib/hints.ts";
import { readManifest } from "./lib/package.ts";
import { paint } from "./lib/paint.ts";

/** Resolves to the exit code; nothing is the same as 0. */
type Body = (...args: never[]) => Promise<number | void>;

/** What the file of a command has. `check` is for `launch`: all that can be known before several processes are started. */
interface Parts {
  readonly run: Body;
  readonly check?: Body;
}

const EXIT_CODES = `Exit codes:
  0               it went well; a run that a hook stopped has gone well too
  1               a run failed
  2               bad input: usage, config, a file that cannot be read
  130, 143, 138   a run was interrupted (Ctrl-C, SIGTERM, SIGUSR1), and has ended in good order
  129             the same after SIGHUP: its terminal was closed`;

/** Runs the command in `args`; resolves to the exit code. */
export async function runProgram(args: readonly string[]): Promise<number> {
  return (await callPart("run", args)) ?? EXIT.ok;
}

/** Checks the command in `args`; resolves to an exit code where nothing is left to be run, as after `--help`. */
export function checkProgram(args: readonly string[]): Promise<number | undefined> {
  return callPart("check", args);
}

async function callPart(part: keyof Parts, args: readonly string[]): Promise<number | undefined> {
  let code: number | undefined;
  const program = makeProgram((given) => (code = given), part);
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return EXIT.ok;
    // No command at all: help has been shown, which says more than an error.
    if (error.code === "commander.help") return EXIT.badInput;
    throw new UsageError(usageMessage(error.message, args, program));
  }
  return code;
}

/** Commander's words in our form: one line, and where help is. */
function usageMessage(message: string, [name]: readonly string[], program: Command): string {
  const said = message.replace(/^error: /, "").replace(/\n\(Did you mean (.+?)\?\)/, ". Did you mean `$1`?");
  const command = program.commands.some((one) => one.name() === name) ? `${name} ` : "";
  return `${said.replaceAll("'", "`").replace(/([^.?])$/, "$1.")} \`${typed(`${command}--help`)}\` shows how it is used.`;
}

export function makeProgram(exitWith: (code: number | undefined) => void, part: keyof Parts = "run"): Command {
  const program = new Command("hookline")
    .description("Trains models from a config file, goes on with runs, and shows what came of them.")
    .version(readManifest().version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command")
    .usage("<command> [options]")
    // What stands after the command that `launch` starts belongs to that one.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .configureHelp({ styleTitle: (title) => paint(process.stdout, "bold", title) });

  const command = (usage: string, description: string, load: () => Promise<Parts>, examples: string) =>
    program
      .command(usage)
      .description(description)
      .addHelpText("after", `\nExamples:\n${examples.replaceAll(/^/gm, "  $ hookline ")}`)
      .action(async (...given: unknown[]) => {
        const body = (await load())[part];
        // Commander passes itself last.
        exitWith((await body?.(...(given.slice(0, -1) as never[]))) ?? undefined);
      });

  command(
    "train",
    "Trains what a config describes.",
    () => import("./train.ts"),
    `train
train digits.yaml --set optimizer.lr=1e-3 --set hooks.earlyStopping.patience=5
train --epochs 1 --run-dir runs/try --quiet
train --dry-run
train --json > result.json`,
  )
    .argument("[config]", "the config; default: hookline.yaml, .yml, .toml, .json or .ts in this directory")
    .addOption(SET())
    .option("--run-dir <dir>", "where the run's files go", nonEmpty)
    .option("--engine <name>", "which engine computes: auto, native, wasm or webgpu")
    .option("--epochs <n>", "how many epochs to train", wholeFrom(1))
    .option("--seed <n>", "the seed of everything random", wholeFrom(0))
    .option("--fresh", "start anew where an unfinished run lies; that one is kept beside, under another name")
    .option("--dry-run", "check the config against the data and show what would run; nothing is trained or written")
    .option("--quiet", "no progress, and no words but errors and warnings")
    .addOption(JSON_FLAG());

  command(
    "resume",
    "Continues a run that was interrupted, killed or has failed, or trains a complete one further.",
    () => import("./resume.ts"),
    `resume runs/digits
resume runs/digits --epochs 20
resume runs/digits --set hooks.earlyStopping.patience=20`,
  )
    .argument("<runDir>", "the run's directory")
    .addOption(SET())
    .option("--epochs <n>", "how many epochs to train in all: more than a complete run has extend it", wholeFrom(1))
    .option("--quiet", "no progress, and no words but errors and warnings")
    .addOption(JSON_FLAG());

  command(
    "unlock",
    "Removes the lock of a run or a study whose process is gone, where hookline cannot tell that by itself.",
    () => import("./unlock.ts"),
    `unlock runs/digits
unlock studies/digits --force`,
  )
    .argument("<dir>", "the directory of the run or the study")
    .option("--force", "also when the process may be running; it then ends with an error before it writes again");

  command(
    "launch",
    "Starts `train` or `resume` as several processes that train together, with Open MPI's mpirun.",
    () => import("./launch.ts"),
    `launch -n 4 train digits.yaml --epochs 20
launch -n 8 --hosts node1,node2 resume runs/digits
launch -n 2 --mpirun "--report-bindings" train`,
  )
    .requiredOption("-n, --ranks <n>", "how many processes", wholeFrom(1))
    .option("--hosts <list>", "where they run: host or host:slots, with commas between; default: here", nonEmpty)
    .option("--mpirun <flags>", "further flags for mpirun, as one word", nonEmpty)
    .argument("<command...>", "train or resume, with all that belongs to it")
    .passThroughOptions();

  command(
    "eval",
    "Evaluates a model of a run.",
    () => import("./eval.ts"),
    `eval runs/digits
eval runs/digits --checkpoint step-000500 --on val
eval runs/compare --model large --json`,
  )
    .argument("<runDir>", "the run's directory")
    .addOption(CHECKPOINT())
    .addOption(new Option("--on <part>", "the data to evaluate on").choices(["test", "val"]).default("test"))
    .addOption(MODEL())
    .addOption(JSON_FLAG());

  command(
    "predict",
    "Writes a model's outputs for all samples of a part of the data.",
    () => import("./predict.ts"),
    `predict runs/digits --out predictions.safetensors
predict runs/digits --on val --out val.csv
predict runs/digits --checkpoint last > predictions.jsonl`,
  )
    .argument("<runDir>", "the run's directory")
    .addOption(CHECKPOINT())
    .addOption(new Option("--on <part>", "the data").choices(["test", "val", "train"]).default("test"))
    .option("--out <file>", ".safetensors, .csv or .jsonl; default: JSON lines on stdout")
    .option("--overwrite", "replace the file if it is there")
    .addOption(MODEL());

  command(
    "inspect",
    "Shows what is in a run, a checkpoint or a file of weights, and whether it is whole.",
    () => import("./inspect.ts"),
    `inspect runs/digits
inspect runs/digits/checkpoints/step-000500
inspect model.safetensors --json`,
  )
    .argument("<path>", "a run's directory, a checkpoint, a .safetensors or .pt file")
    .option("--no-verify", "trust files of the right size without reading them through")
    .addOption(JSON_FLAG());

  command(
    "convert",
    "Writes weights as another kind of file.",
    () => import("./convert.ts"),
    `convert runs/digits digits.safetensors
convert runs/digits/checkpoints/step-000500 digits.pt
convert pytorch_model.bin small.safetensors --dtype BF16 --prefix model.`,
  )
    .argument("<from>", "a run's directory, a checkpoint, a .safetensors or .pt file")
    .argument("<to>", "the new file: .safetensors, .pt, .pth, .bin or .ckpt")
    .option("--dtype <type>", "the type of all floating-point tensors: F32, F16 or BF16")
    .option("--prefix <text>", "what all names begin with, to be taken off")
    .option("--averaged <name>", "of several averaged weights (ema, swa), those")
    .option("--raw", "the model's own weights, also where there are averaged ones")
    .option("--key <name>", "the part of a .pt file that has the weights")
    .option("--overwrite", "replace the file if it is there")
    .addOption(JSON_FLAG());

  command(
    "hooks",
    "Lists events and built-in hooks, or says which hooks of a config run at each event, in which order and why.",
    () => import("./hooks.ts"),
    `hooks
hooks --explain hookline.yaml
hooks --explain hookline.yaml --event stepEnd`,
  )
    .option("--explain <config>", "the order of a config's hooks at each event; nothing is run, and no data is read")
    .option("--event <name>", "with --explain: this event only")
    .addOption(SET())
    .addOption(JSON_FLAG());

  command(
    "runs",
    "Lists runs: how they ended, how far they came, their best metrics.",
    () => import("./runs.ts"),
    `runs
runs experiments --sort val/loss
runs --plot val/accuracy
runs --json`,
  )
    .argument("[dir]", "where runs lie, or the directory of one (default: runs)")
    .option("--metric <name...>", "the metrics to show; default: those of the evaluation")
    .option("--sort <by>", "started, name, steps, time, or a metric, the best first", "started")
    .option("--plot <metric>", "draw the curves of a metric")
    .option("--exact", "read whole logs where run.json and the last records do not give the best of a run")
    .addOption(JSON_FLAG());

  command(
    "tune",
    "Searches for good hyperparameters: trials over a space, as a sweep's file says.",
    () => import("./tune.ts"),
    `tune sweep.yaml
tune sweep.yaml --set trials=50 --set sampler=random
tune sweep.yaml --json > study.json`,
  )
    .argument("<sweep>", "the sweep's file; started again, it goes on where it stood")
    .addOption(SET())
    .option("--fresh", "start anew where a study lies; that one is kept beside, under another name")
    .option("--quiet", "no progress, and no words but errors and warnings")
    .addOption(JSON_FLAG());

  command(
    "studies",
    "Lists studies: how they stand, their best trials; or shows the trials of one.",
    () => import("./studies.ts"),
    `studies
studies runs/digits-sweep
studies runs/digits-sweep --report`,
  )
    .argument("[dir]", "where studies lie, or the directory of one (default: runs)")
    .option("--report", "write report.md and report.html into the study's directory")
    .addOption(JSON_FLAG());

  command(
    "worker",
    "Runs trials of a study on this machine, for a controller that uses bullmq().",
    () => import("./worker.ts"),
    `worker --redis redis://localhost:6379 --study digits
worker --redis rediss://user:password@queue.example:6380 --study digits --concurrency 4 --timeout 3600`,
  )
    .requiredOption("--redis <url>", "where the study's Redis is", nonEmpty)
    .option("--study <name>", "the study's name", nonEmpty, "study")
    .option("--concurrency <n>", "trials at a time, each in a process of its own", wholeFrom(1), 1)
    .option("--memory <MB>", "megabytes that a trial may use", wholeFrom(1))
    .option("--timeout <s>", "seconds that an attempt at a trial may take", wholeFrom(1))
    .option("--recycle <n>", "replace a process after so many trials", wholeFrom(1), 50)
    .option("--allow <export...>", "run these exports only, such as ./trial.ts#train");

  command(
    "init",
    "Writes a small project to begin with: a config, data, a hook of its own and a test of it.",
    () => import("./init.ts"),
    `init demo
init .`,
  ).argument("<dir>", "a new or an empty directory");

  command(
    "doctor",
    "Looks at what hookline can use here: Node, engines, packages, GPU, disk.",
    () => import("./doctor.ts"),
    `doctor
doctor --json`,
  ).addOption(JSON_FLAG());

  return program.addHelpText(
    "after",
    `\nExamples:\n  $ hookline init demo && cd demo && npm install && npx hookline train\n  $ hookline train --set optimizer.lr=1e-3\n\n${EXIT_CODES}`,
  );
}

const SET = (): Option =>
  new Option("--set <path=value>", "change a value of the config; may be given several times").argParser(
    (given: string, before: readonly string[] | undefined) => [...(before ?? []), given],
  );
const JSON_FLAG = (): Option => new Option("--json", "one JSON document on stdout, everything else on stderr");
const CHECKPOINT = (): Option =>
  new Option("--checkpoint <name>", "best, last, or a checkpoint's name").default("best");
const MODEL = (): Option => new Option("--model <name>", "which model, where the run has several");

/** `--run-dir "$DIR"` with a variable that is not set would else mean the current directory. */
function nonEmpty(text: string): string {
  if (text.trim() !== "") return text;
  throw new InvalidArgumentError("It is empty.");
}

function wholeFrom(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isSafeInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`Expected a whole number ≥ ${least}.`);
  };
}
