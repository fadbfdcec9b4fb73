// What other pages can do to the dashboard, in a browser that has its cookie: nothing. Each attack meets every address
// and every method.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PAGE_PATHS } from "../../src/ui/server/pages.ts";
import { ROUTES } from "../../src/ui/server/routes.ts";
import { Dashboard, present } from "./browser.ts";
import { seedOne } from "./seeded-runs.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

describe.runIf(present)("a browser that has the cookie", () => {
  const dashboard = new Dashboard(["--host-resolver-rules=MAP *.example 127.0.0.1"]);
  let evil: Server;
  let evilPort = 0;
  let paths: string[] = [];

  beforeAll(async () => {
    seedOne(dashboard.root);
    await dashboard.start({ elsewhere: true });
    const id = (await dashboard.find("one"))!;
    const api = Object.keys(ROUTES).map((name) => `api/v1/${name.replace(":id", id).replace(":cid", "00000000")}`);
    paths = [...api, ...PAGE_PATHS];
    evil = createServer((_request, response) => response.writeHead(200, { "content-type": "text/html" }).end("<body>"));
    await new Promise<void>((done) => void evil.listen(0, "127.0.0.1", done));
    evilPort = (evil.address() as AddressInfo).port;
  });
  afterAll(async () => {
    evil?.close();
    await dashboard.close();
  });

  const port = (): string => new URL(dashboard.url).port;

  interface Attacked {
    readonly method: string;
    readonly path: string;
    readonly status: number;
    readonly cookie: boolean;
  }

  /** What our server answered to a page, also where the browser keeps the answer from the page. */
  async function listenTo(page: Page): Promise<() => Attacked[]> {
    const session = await page.context().newCDPSession(page);
    await session.send("Network.enable");
    const asked = new Map<string, { method: string; url: URL }>();
    const cookies = new Set<string>();
    const statuses = new Map<string, number>();
    session.on("Network.requestWillBeSent", ({ requestId, request: { method, url } }) =>
      asked.set(requestId, { method, url: new URL(url) }),
    );
    session.on("Network.requestWillBeSentExtraInfo", ({ requestId, headers }) => {
      if (Object.keys(headers).some((name) => name.toLowerCase() === "cookie")) cookies.add(requestId);
    });
    session.on("Network.responseReceivedExtraInfo", ({ requestId, statusCode }) => statuses.set(requestId, statusCode));
    return () =>
      [...asked].flatMap(([id, { method, url }]) => {
        const status = statuses.get(id);
        if (url.port !== port() || status === undefined) return [];
        return [{ method, path: url.pathname, status, cookie: cookies.has(id) }];
      });
  }

  /** Sends everything from a page, as it can; what the server answered, and what the page could read. */
  async function attack(page: Page, base: string): Promise<{ answers: Attacked[]; read: string[] }> {
    const answers = await listenTo(page);
    const read = await page.evaluate(
      async ([at, all, methods]) => {
        const readable: string[] = [];
        const send = async (path: string, method: string, init: RequestInit): Promise<void> => {
          const answer = await fetch(`${at}${path}`, { method, credentials: "include", ...init }).catch(
            () => undefined,
          );
          if (answer && answer.type !== "opaque" && answer.ok) readable.push(`${method} ${path}`);
        };
        for (const path of all) {
          for (const method of methods) {
            const body = method === "GET" || method === "HEAD" ? {} : { body: "{}" };
            const headers = { "content-type": "application/json", "x-hookline": "1" };
            await send(path, method, { ...body, headers });
            // What needs no permission of the server: a simple request, of which the answer cannot be read.
            if (["GET", "POST", "HEAD"].includes(method))
              await send(path, method, { ...body, mode: "no-cors", headers: { "content-type": "text/plain" } });
          }
        }
        return readable;
      },
      [base, paths, METHODS] as const,
    );
    return { answers: answers(), read };
  }

  const statusesOf = (answers: readonly Attacked[]): number[] =>
    [...new Set(answers.map(({ status }) => status))].sort((a, b) => a - b);
  const covered = (answers: readonly Attacked[], method: string): number =>
    new Set(answers.filter((each) => each.method === method).map(({ path }) => path)).size;

  test("a name that was made to lead here: 421 for every address and method", async () => {
    const { page } = await dashboard.open("");
    const rebound = `http://evil.example:${port()}/`;
    expect((await page.goto(rebound))!.status()).toBe(421);
    const { answers, read } = await attack(page, rebound);
    expect(read).toEqual([]);
    expect(statusesOf(answers)).toEqual([421]);
    expect(answers.some(({ cookie }) => cookie)).toBe(false);
    for (const method of METHODS) expect([method, covered(answers, method)]).toEqual([method, paths.length]);
    await page.close();
  });

  test.each([
    ["another site", (): string => `http://evil.example:${evilPort}/`, false],
    [
      "another port of this machine, whose requests have the cookie",
      (): string => `http://127.0.0.1:${evilPort}/`,
      true,
    ],
  ])("%s: 403 for every address and method", async (_name, from, hasCookie) => {
    const { page } = await dashboard.open("");
    await page.goto(from());
    const { answers, read } = await attack(page, dashboard.url);
    expect(read).toEqual([]);
    expect(statusesOf(answers)).toEqual([403]);
    // Other methods are asked about first, with OPTIONS, which is refused: they are never sent.
    for (const method of ["GET", "POST", "HEAD"])
      expect([method, covered(answers, method)]).toEqual([method, paths.length]);
    expect(answers.some(({ cookie, method }) => cookie && method === "POST")).toBe(hasCookie);
    await page.close();
  });

  test.each([
    ["a frame", "<iframe>"],
    ["a form", "<form method=post enctype=text/plain>"],
    ["a link", "<a>"],
    ["an image", "<img>"],
    ["a script", "<script>"],
  ])("%s of another page: refused", async (_name, tag) => {
    for (const host of ["evil.example", "127.0.0.1"]) {
      const { page } = await dashboard.open("");
      await page.goto(`http://${host}:${evilPort}/`);
      const answers = await listenTo(page);
      await page.evaluate(
        ([markup, target]) => {
          const made = document.createElement(markup.slice(1).split(/[ >]/, 1)[0]!);
          if (made instanceof HTMLFormElement)
            Object.assign(made, { method: "post", enctype: "text/plain", action: target });
          else if (made instanceof HTMLAnchorElement) made.href = target;
          else (made as HTMLImageElement).src = target;
          document.body.append(made);
          if (made instanceof HTMLFormElement) made.submit();
          else if (made instanceof HTMLAnchorElement) made.click();
        },
        [tag, dashboard.url] as const,
      );
      await expect.poll(() => [tag, host, answers()[0]?.status]).toEqual([tag, host, 403]);
      await page.close();
    }
  });

  test("the page itself may not be framed, and runs no script but its own", async () => {
    const { page } = await dashboard.open("");
    await page.locator("table.runs").waitFor();
    const ran = await page.evaluate(async () => {
      const script = document.createElement("script");
      const outcomes: string[] = [];
      try {
        script.textContent = "globalThis.injected = 1";
        document.body.append(script);
      } catch (error) {
        outcomes.push((error as Error).name);
      }
      try {
        document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='globalThis.injected = 2'>");
      } catch (error) {
        outcomes.push((error as Error).name);
      }
      await new Promise((resolve) => void setTimeout(resolve, 50));
      return [...outcomes, (globalThis as { injected?: number }).injected ?? "nothing ran"];
    });
    expect(ran).toEqual(["TypeError", "TypeError", "nothing ran"]);
    await page.close();
  });
});
