// Which of hookline's functions run during an action, as V8's precise coverage counts them.
import { Session, type Profiler } from "node:inspector";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../support/sources.ts";

/** A file under src/ and the functions of it that ran, in the order of the file. */
export interface Visited {
  readonly file: string;
  readonly functions: readonly string[];
}

const SOURCE = pathToFileURL(join(root, "src/")).href;

export class Coverage {
  readonly #session = new Session();

  constructor() {
    // Blocks are counted in code that is compiled from here on: make one before hookline is imported.
    this.#session.connect();
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** Forgets what has run so far. */
  begin(): void {
    this.#take();
  }

  /** What has run since `begin`. Loading a module is not counted, calling its functions is. */
  end(): Visited[] {
    return this.#take()
      .filter(({ url }) => url.startsWith(SOURCE))
      .map(({ url, functions }) => ({ file: url.slice(SOURCE.length), functions: namesOf(functions) }))
      .filter(({ functions }) => functions.length > 0)
      .toSorted((a, b) => (a.file < b.file ? -1 : 1));
  }

  stop(): void {
    this.#session.disconnect();
  }

  /** In the same thread the answer comes before `post` returns; reading it resets the counts. */
  #take(): Profiler.ScriptCoverage[] {
    let result: Profiler.ScriptCoverage[] = [];
    this.#session.post("Profiler.takePreciseCoverage", (error, taken) => {
      if (error) throw error;
      result = taken.result;
    });
    return result;
  }
}

function namesOf(functions: readonly Profiler.FunctionCoverage[]): string[] {
  // The function that begins where the script does is the module itself.
  const ran = functions.filter(({ ranges: [whole] }) => whole!.count > 0 && whole!.startOffset > 0);
  return ran.map(({ functionName }) => functionName || "(anonymous)");
}

/** The functions that run on every walk. */
export function inAll([first = [], ...others]: readonly (readonly Visited[])[]): Visited[] {
  const common = first.map(({ file, functions }) => {
    const ran = others.map((walk) => walk.find((each) => each.file === file)?.functions ?? []);
    return { file, functions: functions.filter((name) => ran.every((names) => names.includes(name))) };
  });
  return common.filter(({ functions }) => functions.length > 0);
}
