import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectOf as folderOf } from "../../../tests/support/config-files.ts";
import { ConfigError } from "./config-error.ts";
import { insideProject, projectOf } from "./project.ts";

describe("insideProject", () => {
  it.each([
    "runs/digits",
    "./runs",
    "runs/../data",
    "data/file.csv",
    ".",
    "a b/ü",
    "..x",
    "x..",
    "a/...",
    "new/deep/dir",
  ])("allows %s", (path) => {
    const dir = folderOf({ "data/file.csv": "" });
    expect(insideProject(dir, path)).toBe(join(dir, path));
  });

  it("is relative to where it was written, and takes an absolute path that stays inside", () => {
    const dir = folderOf({ "sub/x": "" });
    expect(insideProject(dir, "../y", { from: join(dir, "sub") })).toBe(join(dir, "y"));
    expect(insideProject(dir, join(dir, "runs"))).toBe(join(dir, "runs"));
  });

  it("follows links: those that stay inside are fine", () => {
    const dir = folderOf({ "real/x": "" });
    const other = folderOf({ secret: "" });
    symlinkSync(join(dir, "real"), join(dir, "in"));
    symlinkSync(other, join(dir, "out"));
    symlinkSync(join(other, "not-there"), join(dir, "nothing"));
    symlinkSync("loop", join(dir, "loop"));
    mkdirSync(join(dir, "deep"));
    symlinkSync("../out", join(dir, "deep/twice"));
    expect(insideProject(dir, "in/x")).toBe(join(dir, "in/x"));
    for (const path of ["out", "out/secret", "out/new/file", "nothing", "nothing/file", "loop", "deep/twice/new"])
      expect(() => insideProject(dir, path), path).toThrow(ConfigError);
  });

  it("works in a project that is itself reached through a link", () => {
    const dir = folderOf({ "real/package.json": "{}" });
    symlinkSync(join(dir, "real"), join(dir, "link"));
    expect(insideProject(join(dir, "link"), "runs")).toBe(join(dir, "link/runs"));
    expect(() => insideProject(join(dir, "link"), "../other")).toThrow("leaves the project");
  });
});

it("the project is the nearest directory with a package.json, else the config's own", () => {
  const dir = folderOf({ "a/b/c.yaml": "", "other/package.json": "{}", "other/x/c.yaml": "" });
  expect(projectOf(join(dir, "a/b"))).toBe(dir);
  expect(projectOf(join(dir, "other/x"))).toBe(join(dir, "other"));
  expect(projectOf("/")).toBe("/");
});
