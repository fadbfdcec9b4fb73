// How a hint names a command: so that it can be typed as it stands, also where hookline is a dependency of a project and
// no command of the shell.

/** Set by `launch`, for itself and for the processes that it starts: its own part of the command line. */
export const LAUNCH_VARIABLE = "HOOKLINE_LAUNCH";

export const typed = (command: string): string => `npx hookline ${command}`;

/** Goes on with a run, in as many processes as this command has. */
export function typedResume(runDir: string): string {
  const launch = process.env[LAUNCH_VARIABLE];
  return typed(`${launch === undefined ? "" : `${launch} `}resume ${runDir}`);
}
