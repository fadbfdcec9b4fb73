// Asks a server of the dashboard over HTTP, and for what that has cost it.
import { fork } from "node:child_process";
import type { RunsAnswer } from "../../src/ui/wire.ts";
import { compiledProgram } from "./compiled.ts";
import type { FromServer, ServerUsage } from "./ui-server.ts";

export interface UiServer {
  readonly url: string;
  /** Works once. */
  readonly link: string;
  usage(): Promise<ServerUsage>;
  /** Processor milliseconds of the server for some work. */
  cost(work: () => Promise<unknown>): Promise<number>;
  get<T>(path: string): Promise<T>;
  /** The bytes of the answer. */
  post(path: string, body: object): Promise<ArrayBuffer>;
  /** The id of a run by its name. */
  idOf(name: string): Promise<string>;
  close(): void;
}

export async function startUiServer(root: string, pages: string): Promise<UiServer> {
  const child = fork(compiledProgram("ui-server"), [root, pages], { execArgv: [] });
  const next = <K extends FromServer["kind"]>(kind: K): Promise<Extract<FromServer, { kind: K }>> =>
    new Promise((resolve, reject) => {
      const hear = (message: FromServer): void => {
        if (message.kind !== kind) return;
        child.off("message", hear);
        resolve(message as Extract<FromServer, { kind: K }>);
      };
      child.on("message", hear);
      child.once("exit", () => reject(new Error("the dashboard's server ended")));
    });
  const { url, link, token } = await next("listening");
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", "x-hookline": "1" };
  const usage = (): Promise<ServerUsage> => {
    const answer = next("usage");
    child.send({});
    return answer;
  };
  /** A log that is still being read is asked for again. */
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    for (;;) {
      const answer = await fetch(`${url}api/v1/${path}`, { headers, ...init });
      if (answer.ok) return answer;
      if (answer.status !== 503) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      await new Promise((resolve) => void setTimeout(resolve, 100));
    }
  };
  const get = async <T>(path: string): Promise<T> => (await (await ask(path)).json()) as T;
  return {
    url,
    link,
    usage,
    get,
    async cost(work) {
      const before = (await usage()).cpu;
      await work();
      return (await usage()).cpu - before;
    },
    post: async (path, body) => (await ask(path, { method: "POST", body: JSON.stringify(body) })).arrayBuffer(),
    async idOf(name) {
      const { rows } = await get<RunsAnswer>("runs");
      return rows.find((row) => row.name === name)!.id;
    },
    close: () => child.disconnect(),
  };
}
