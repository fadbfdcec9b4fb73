// Where a command's server listens: the flags, and the errors of an address that cannot be used.
import { InvalidArgumentError } from "commander";
import { UsageError } from "./errors.ts";

export const LARGEST_PORT = 65_535;

/** Takes a port; 0 lets the system choose. */
export function portNumber(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= LARGEST_PORT) return Number(text);
  throw new InvalidArgumentError(`Expected a port from 0 to ${LARGEST_PORT}.`);
}

/** The error of `listen` as one for the user; other errors as they are. */
export function listenError(error: unknown, host: string, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE")
    return new UsageError(`Port ${port} of ${host} is in use. Choose another one with --port, or 0 for any.`);
  if (code === "EACCES") return new UsageError(`Port ${port} needs more rights. Choose one from 1024 on with --port.`);
  if (["EADDRNOTAVAIL", "ENOTFOUND", "EINVAL", "EAI_AGAIN"].includes(code ?? ""))
    return new UsageError(`This machine has no address ${host}. Use --host 127.0.0.1 or --host 0.0.0.0.`);
  return error;
}
