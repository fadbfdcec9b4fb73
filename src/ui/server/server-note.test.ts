// The note of a server in a directory that came from elsewhere leads to no other machine and to no other address.
import { mkdirSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { tempDir } from "../../../tests/support/temp-dir.ts";
import { thisProcess } from "../../runs/liveness.ts";
import { findServer } from "./server-note.ts";

/** A directory with a note of a server that answers with this link. */
function planted(url: string, link: string) {
  const dir = tempDir();
  mkdirSync(`${dir}/.hookline-ui`);
  writeFileSync(`${dir}/.hookline-ui/server.json`, JSON.stringify({ ...thisProcess(), url, token: "x" }));
  const fetched = vi.spyOn(globalThis, "fetch").mockImplementation(async () => Response.json({ url: link }));
  onTestFinished(() => fetched.mockRestore());
  return { dir, fetched };
}

test.each(["127.0.0.1", "localhost", "[::1]", "0.0.0.0"])("a server of this machine gives a link: %s", async (name) => {
  const url = `http://${name}:6116/`;
  const { dir } = planted(url, `${url}?token=a`);
  expect(await findServer(dir)).toEqual({ url, link: `${url}?token=a` });
});

test("a link to another address is none", async () => {
  const { dir } = planted("http://127.0.0.1:6116/", "http://evil.example/?token=a");
  expect(await findServer(dir)).toBeUndefined();
});

test.each(["http://evil.example/", "https://127.0.0.1.evil.example/", "javascript:1", ""])(
  "%j is another machine, which is not asked",
  async (url) => {
    const { dir, fetched } = planted(url, `${url}?token=a`);
    expect(await findServer(dir)).toBeUndefined();
    expect(fetched).not.toHaveBeenCalled();
  },
);
