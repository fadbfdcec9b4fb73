import { HooklineError } from "../../core/errors.ts";

/**
 * `bad-command`: it is not a command. `not-allowed`: this run does not accept it. `bounds`: a number is out of range.
 * `not-controllable`: nobody reads the inbox. `part-over`: the command is for an earlier part of the run. `full`: too
 * many commands are waiting.
 */
export type ControlCode = "bad-command" | "not-allowed" | "bounds" | "not-controllable" | "part-over" | "full";

/** A command that cannot be sent or carried out, and why. */
export class ControlError extends HooklineError {
  override name = "ControlError";
  readonly code: ControlCode;

  constructor(code: ControlCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
