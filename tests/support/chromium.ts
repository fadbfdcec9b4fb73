// Chromium in tests gives up only what hangs: playwright's own limits of 30 s are too short where the machine is busy.
export const NEVER_MS = 600_000;
