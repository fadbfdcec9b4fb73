// The dashboard beside a training: `train --ui` and `tune --ui`. A process of its own, so that it takes no time from the
// training. It ends with the command that started it, or seconds later, so that its pages show how the run has ended.
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { Option } from "commander";
import { say, shownPath, typed } from "./output.ts";

export const uiFlag = (): Option => new Option("--ui", "show the run in a browser meanwhile, and print the link");

export interface UiBeside {
  close(): void;
}

/** Starts the dashboard of a directory and prints its link. A failure is a warning: the training matters more. */
export async function startUiBeside(dir: string): Promise<UiBeside> {
  mkdirSync(dir, { recursive: true });
  const [, program = ""] = process.argv;
  const args = [...process.execArgv, program, "ui", dir, "--json", "--beside"];
  // In a group of its own: Ctrl-C ends the training, and the page shows how.
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"], detached: true });
  const link = await new Promise<string | undefined>((resolve) => {
    let text = "";
    child.on("error", () => resolve(undefined));
    child.on("exit", () => resolve(linkIn(text)));
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const found = linkIn(text);
      if (found !== undefined) resolve(found);
    });
  });
  // It must not keep this process from ending.
  child.unref();
  for (const stream of [child.stdin, child.stdout]) (stream as unknown as { unref(): void }).unref();
  if (link === undefined)
    say(`warning: the dashboard could not be started. \`${typed(`ui ${shownPath(dir)}`)}\` says why.`);
  else say(`Watch it on ${link} (the link works once).`);
  return { close: () => void child.stdin.end() };
}

function linkIn(text: string): string | undefined {
  try {
    const { link } = JSON.parse(text) as { readonly link?: unknown };
    return typeof link === "string" ? link : undefined;
  } catch {
    return undefined;
  }
}
