// How a check makes its error: who calls it knows the place in the config, the check does not.
import { ConfigError } from "./config-error.ts";

export type Fail = (message: string, cause?: unknown) => ConfigError;

/** For what is not of a config. */
export const failWithoutPlace: Fail = (message, cause) =>
  new ConfigError(message, [], undefined, cause === undefined ? undefined : { cause });
