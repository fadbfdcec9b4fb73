// `hookline` with its arguments, in a process that can be killed.
import { runProgram } from "../../src/cli/program.ts";
import { reportError } from "../../src/cli/errors.ts";

process.exitCode = await runProgram(process.argv.slice(2)).catch((error: unknown) => reportError(error));
