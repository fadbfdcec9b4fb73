#!/usr/bin/env node
// The bin: runs a command and ends with its exit code. What a command needs is loaded when it is called.
import { EXIT, reportError } from "./errors.ts";
import { ignoreClosedPipes } from "./output.ts";
import { hearStandIns, myTurn } from "./ranks.ts";
import { runProgram } from "./program.ts";

ignoreClosedPipes();
hearStandIns();
try {
  const code = await runProgram(process.argv.slice(2));
  // A run that a signal ended has set the code already.
  if (code !== EXIT.ok) process.exitCode = code;
} catch (error) {
  process.exitCode = reportError(error, await myTurn());
}
