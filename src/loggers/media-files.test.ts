import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { expect, test } from "vitest";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { image } from "../core/media.ts";
import { nodeFs } from "../runs/files.ts";
import { MediaFiles } from "./media-files.ts";

const picture = image({ data: new Uint8Array(4), shape: [2, 2] });

test("names of any kind become files of their own, and stay in their directory", () => {
  const dir = tempDir();
  const files = new MediaFiles(nodeFs("test"), dir);
  const names = ["samples", "../../x", "a/b", "a_b", "é", "x".repeat(300), "", ".."];
  const paths = names.map((name) => files.write(7, name, picture));
  expect(new Set(paths).size).toBe(names.length);
  for (const path of paths) expect(path).toMatch(/^media\/7-[\w.-]*\.png$/);
  expect(readdirSync(`${dir}/media`).length).toBe(names.length);
  expect(paths[0]).toBe("media/7-samples.png");
});

test("the oldest are removed beyond the limit; a resumed run replaces its own", () => {
  const dir = tempDir();
  const first = new MediaFiles(nodeFs("test"), dir, 250);
  for (let step = 1; step <= 3; step++) first.write(step, "a", picture);
  const later = new MediaFiles(nodeFs("test"), dir, 250);
  later.write(3, "a", picture);
  later.write(4, "a", picture);
  const left = readdirSync(`${dir}/media`);
  expect(left).toContain("4-a.png");
  expect(left).not.toContain("1-a.png");
  later.setAside();
  expect(readdirSync(dir)).toEqual(["media.1"]);
});

test("a link in place of the directory is refused", () => {
  const dir = tempDir();
  mkdirSync(`${dir}/elsewhere`);
  symlinkSync(`${dir}/elsewhere`, `${dir}/media`);
  expect(() => new MediaFiles(nodeFs("test"), dir).write(1, "a", picture)).toThrow("it is a link");
  expect(readdirSync(`${dir}/elsewhere`)).toEqual([]);
});
