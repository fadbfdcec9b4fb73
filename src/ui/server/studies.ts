// The studies below the directory that is shown.
import { relative } from "node:path";
import { lstatSync } from "node:fs";
import { FORMATS } from "../../runs/layout.ts";
import { helloFile } from "../../runs/control/control-files.ts";
import type { StudyPage, StudyRow } from "../wire.ts";
import { gone } from "./answer.ts";
import { idOf } from "./run-index.ts";
import type { Site } from "./site.ts";
import type { ReadStudyPage } from "./study-page.ts";

interface Known {
  readonly stamp: string;
  readonly at: number;
  readonly page: ReadStudyPage | undefined;
}

/** A journal that has not changed is read again after this long: its controller may have been killed. */
const MOST_AGE = 5000;

export class Studies {
  readonly #known = new Map<string, Known>();

  async list(site: Site): Promise<StudyRow[]> {
    const all = await Promise.all([...site.index.studies].map(async ([id, dir]) => this.#row(site, id, dir)));
    return all.filter((row) => row !== undefined);
  }

  async page(site: Site, id: string): Promise<StudyPage> {
    const dir = this.directory(site, id);
    const page = await this.#read(site, dir);
    const row = await this.#row(site, id, dir);
    if (!page || !row) throw gone("study of this id");
    const trials = page.trials.map(({ runDir, ...trial }) => {
      const run = runDir === null ? undefined : site.index.find(idOf(site.root, runDir));
      return { ...trial, run: run?.id ?? null };
    });
    return { ...page, row, trials };
  }

  directory({ index }: Site, id: string): string {
    const dir = index.studies.get(id);
    if (dir === undefined) throw gone("study of this id");
    return dir;
  }

  async #row(site: Site, id: string, dir: string): Promise<StudyRow | undefined> {
    const page = await this.#read(site, dir);
    return page && { id, name: relative(site.root, dir) || site.shownRoot, ...page.row };
  }

  /** A study that cannot be read does not hide the others. */
  async #read({ reader }: Site, dir: string): Promise<ReadStudyPage | undefined> {
    const stamp = [`${dir}/${FORMATS.journal.file}`, helloFile(dir)]
      .map((path) => lstatSync(path, { throwIfNoEntry: false }))
      .map((found) => `${found?.ino}:${found?.size}:${found?.mtimeMs}`)
      .join(" ");
    const known = this.#known.get(dir);
    if (known?.stamp === stamp && performance.now() - known.at < MOST_AGE) return known.page;
    const page = await reader.ask({ kind: "study", dir }).catch(() => undefined);
    this.#known.set(dir, { stamp, at: performance.now(), page });
    return page;
  }
}
