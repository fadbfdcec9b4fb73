// How flags of the commands for language models are read.
import { InvalidArgumentError, Option } from "commander";
import { ENGINE_NAMES } from "../../engines/select.ts";

export const engineFlag = (command = ""): Option =>
  new Option("--engine <name>", `${command}the compute engine`).choices(ENGINE_NAMES);

export function positive(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("Expected a number > 0.");
}

export function share(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value < 1) return value;
  throw new InvalidArgumentError("Expected a number from 0 up to 1, such as 0.05.");
}
