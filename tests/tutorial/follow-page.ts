// Does what a page says, in order, in an empty folder: writes its files, runs its commands, and compares what they print.
import { spawn, type ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

type Step =
  | { readonly kind: "file"; readonly line: number; readonly name: string; readonly text: string }
  | { readonly kind: "run"; readonly line: number; readonly text: string }
  | { readonly kind: "shown"; readonly line: number; readonly text: string };

/** The blocks of a page. A file has its name in a comment in the first line. */
export function stepsOf(markdown: string): Step[] {
  return [...markdown.matchAll(/^```(sh|text|yaml|ts no-run)\n([^]*?)^```$/gm)].map((block) => {
    const [, language, text] = block as unknown as [string, string, string];
    const line = markdown.slice(0, block.index).split("\n").length;
    if (language === "sh") return { kind: "run", line, text };
    if (language === "text") return { kind: "shown", line, text };
    const name = /^(?:\/\/|#) (\S+)\n/.exec(text)?.[1];
    if (name === undefined) throw new Error(`line ${line}: the first line of a file must name it`);
    return { kind: "file", line, name, text };
  });
}

/** Numbers differ between engines and machines; everything else on the page must be there, line by line. */
const withoutNumbers = (text: string): string => text.replaceAll(/\d+(?:[.,]\d+)*/g, "0").replaceAll(/ {2,}/g, " ");

function checkShown(shown: string, printed: string, line: number): void {
  let rest = withoutNumbers(printed);
  for (const each of withoutNumbers(shown).trim().split("\n")) {
    const at = rest.indexOf(each);
    if (at < 0) throw new Error(`line ${line}: the page shows "${each}", and this was printed:\n${printed}`);
    rest = rest.slice(at + each.length);
  }
}

export class Reader {
  #folder: string;
  readonly #servers: ChildProcess[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns what the last commands have printed. */
  async follow(steps: readonly Step[], change: (commands: string) => string): Promise<string> {
    let printed = "";
    for (const step of steps) {
      if (step.kind === "file") writeFileSync(join(this.#folder, step.name), step.text);
      else if (step.kind === "shown") checkShown(step.text, printed, step.line);
      else printed = await this.#run(change(step.text), step.line);
    }
    return printed;
  }

  async #run(commands: string, line: number): Promise<string> {
    // The next block is run in the folder in which this one ends, as in a terminal.
    const child = spawn("bash", ["-euc", `${commands}\nprintf "\\nfolder: %s\\n" "$PWD"`], {
      cwd: this.#folder,
      env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let printed = "";
    let heard = (): void => undefined;
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        printed += text;
        heard();
      });
    const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
    if (commands.includes("hookline serve")) {
      this.#servers.push(child);
      const ready = new Promise<void>((resolve) => (heard = () => /http:\/\/\S+/.test(printed) && resolve()));
      await Promise.race([ready, ended]);
      if (child.exitCode === null) return printed;
    }
    const code = await ended;
    if (code !== 0) throw new Error(`line ${line}: ended with code ${code}:\n${commands}\n${printed}`);
    this.#folder = /^folder: (.*)$/m.exec(printed)![1]!;
    return printed;
  }

  /** Ctrl-C, in every terminal that serves. */
  async close(): Promise<void> {
    for (const server of this.#servers) {
      const ended = new Promise((resolve) => server.on("close", resolve));
      process.kill(-server.pid!, "SIGINT");
      await ended;
    }
  }
}
