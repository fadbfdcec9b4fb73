// W&B without a network: a run as a `.wandb` file, which `wandb sync <folder>` sends later.
import { OptionError } from "../core/errors.ts";
import { builtin } from "../platform/builtin.ts";
import type { RunEnd, RunFacts } from "../runs/types.ts";
import { concat } from "../core/protobuf.ts";
import { endLine, parseLine, RecordLines } from "./lib/record-lines.ts";
import type { MakeBackend } from "./lib/threaded-backend.ts";
import type { WandbHead } from "./wandb-courier.ts";
import { WandbFrames } from "./wandb-frames.ts";
import { imagesOf, type ImageFile } from "./wandb-images.ts";
import { rowOf, type Entries } from "./wandb-lines.ts";
import { WandbRecords } from "./wandb-records.ts";

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs">>;

/** So many records are written at once, if no flush comes first. */
const MOST_RECORDS = 256;

export const wandbOffline: MakeBackend<{ readonly head: WandbHead }> = ({ head }) => {
  const lines = new RecordLines({ media: true });
  let file: OfflineFile | undefined;
  return {
    name: "wandb",
    open(run) {
      file = new OfflineFile(head, run);
    },
    log(record) {
      lines.add(record);
      if (lines.length >= MOST_RECORDS) file?.write(lines.take(false));
    },
    flush: () => file?.write(lines.take(true)),
    close(end) {
      file?.write(lines.take(true));
      file?.finish(end);
    },
  };
};

class OfflineFile {
  readonly #fs: Fs;
  readonly #folder: string;
  readonly #fd: number;
  readonly #frames = new WandbFrames();
  readonly #records = new WandbRecords();
  readonly #summary = new Map<string, string>();

  constructor(head: WandbHead, { dir, startedAt }: RunFacts) {
    if (dir === undefined) {
      throw new OptionError("wandb: offline files need a directory: give the trainer a `runDir`.");
    }
    this.#fs = builtin<Fs>("wandb", "node:fs");
    const time = new Date(startedAt).toISOString().replace(/[-:]/g, "").replace("T", "_").slice(0, 15);
    this.#folder = this.#newFolder(`${dir}/wandb/offline-run-${time}-${head.id}`);
    this.#fd = this.#fs.openSync(`${this.#folder}/run-${head.id}.wandb`, "wx");
    this.#frames.add(this.#records.header());
    this.#frames.add(this.#records.run(head, startedAt));
    this.#flush();
  }

  write(lines: readonly string[]): void {
    for (const text of lines) {
      const line = parseLine(text);
      if (line?.kind !== "log") continue;
      const images = imagesOf(line);
      if (images.size > 0) this.#writeImages([...images.values()]);
      const row = rowOf(line, { image: (name) => images.get(name)?.json });
      for (const [name, json] of row.history) this.#summary.set(name, json);
      if (row.history.length > 0) this.#frames.add(this.#records.history(row, line.step));
      if (row.system.length > 0) this.#frames.add(this.#records.stats(row));
    }
    if (lines.length > 0) this.#flush();
  }

  #writeImages(images: readonly ImageFile[]): void {
    this.#fs.mkdirSync(`${this.#folder}/files/media/images`, { recursive: true });
    for (const { path, bytes } of images) this.#fs.writeFileSync(`${this.#folder}/files/${path}`, bytes);
    this.#frames.add(this.#records.files(images.map(({ path }) => path)));
  }

  finish(end: RunEnd): void {
    const runtime: Entries = [["_wandb", JSON.stringify({ runtime: Math.round(end.elapsed) })]];
    this.#frames.add(this.#records.summary([...this.#summary, ...runtime]));
    const line = parseLine(endLine(end));
    if (line?.kind === "end") this.#frames.add(this.#records.exit(line));
    this.#flush();
    this.#fs.fsyncSync(this.#fd);
    this.#fs.closeSync(this.#fd);
  }

  /** Resumed within a second, a run needs another name. */
  #newFolder(path: string): string {
    for (let n = 1; ; n++) {
      const folder = n === 1 ? path : path.replace(/offline-run-(\d+_\d+)/, `offline-run-$1_${n}`);
      if (this.#fs.existsSync(folder)) continue;
      this.#fs.mkdirSync(`${folder}/files`, { recursive: true });
      return folder;
    }
  }

  #flush(): void {
    const bytes = concat(this.#frames.take());
    for (let at = 0; at < bytes.byteLength;) at += this.#fs.writeSync(this.#fd, bytes, at);
  }
}
