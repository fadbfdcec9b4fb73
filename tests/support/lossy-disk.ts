// A model of what a power cut leaves of a directory: what was synced is there, what was not may be, in any combination.
import type { DiskFs } from "../../src/platform/durable-files.ts";

interface FileNode {
  readonly kind: "file";
  data: Uint8Array;
  durable: Uint8Array;
}

interface DirNode {
  readonly kind: "dir";
  entries: Map<string, Node>;
  durable: Map<string, Node>;
  /** What changed the entries since they were last synced. */
  pending: ((entries: Map<string, Node>) => void)[];
}

type Node = FileNode | DirNode;

const newDir = (): DirNode => ({ kind: "dir", entries: new Map(), durable: new Map(), pending: [] });

/** What becomes of changes that were not synced. */
export interface Loss {
  readonly name: string;
  /** Whether the i-th pending change of a directory's names made it. */
  survives(i: number): boolean;
  /** How much of the bytes that were written and not synced did, from 0 to 1. */
  readonly data: number;
}

/** Wraps a file system: what goes through is recorded, and can be read back as after a power cut. */
export class LossyDisk {
  readonly fs: DiskFs;
  readonly #root: string;
  readonly #tree: DirNode = newDir();
  readonly #open = new Map<number, Node>();
  readonly #after: () => void;

  /** `after` is called after each change; without `syncsNames` the directories are not synced, to see that it matters. */
  constructor(root: string, real: DiskFs, after: () => void, syncsNames = true) {
    this.#root = root;
    this.#after = after;
    const changed = <T>(result: T): T => {
      this.#after();
      return result;
    };
    this.fs = {
      ...real,
      openSync: (path, flags) => {
        const fd = real.openSync(path, flags);
        if (flags === "wx") this.#add(path, { kind: "file", data: new Uint8Array(), durable: new Uint8Array() });
        const node = this.#find(path);
        if (node) this.#open.set(fd, node);
        return flags === "wx" ? changed(fd) : fd;
      },
      writeSync: (fd, bytes, offset, length) => {
        const written = real.writeSync(fd, bytes, offset, length);
        const file = this.#open.get(fd) as FileNode;
        file.data = Buffer.concat([file.data, bytes.subarray(offset, offset + written)]);
        return changed(written);
      },
      fsyncSync: (fd) => {
        real.fsyncSync(fd);
        const node = this.#open.get(fd);
        if (node?.kind === "file") node.durable = node.data;
        else if (node && syncsNames) sync(node);
        changed(undefined);
      },
      closeSync: (fd) => {
        real.closeSync(fd);
        this.#open.delete(fd);
      },
      mkdirSync: (path, options) => {
        const made = real.mkdirSync(path, options);
        if (path !== this.#root) this.#add(path, newDir());
        return changed(made);
      },
      renameSync: (from, to) => {
        real.renameSync(from, to);
        const [name, newName] = [nameOf(from), nameOf(to)];
        this.#change(from, (entries) => {
          const node = entries.get(name);
          if (!node) return;
          entries.delete(name);
          entries.set(newName, node);
        });
        changed(undefined);
      },
      unlinkSync: (path) => changed(this.#remove(path, real.unlinkSync(path))),
      rmdirSync: (path) => changed(this.#remove(path, real.rmdirSync(path))),
    };
  }

  /** Takes what is there as durable. */
  settle(): void {
    const walk = (dir: DirNode): void => {
      sync(dir);
      for (const node of dir.entries.values()) {
        if (node.kind === "dir") walk(node);
        else node.durable = node.data;
      }
    };
    walk(this.#tree);
  }

  /** What such a loss leaves: the bytes of each file, and null for a directory, by path from the root. */
  remains(loss: Loss): Map<string, Uint8Array | null> {
    const left = new Map<string, Uint8Array | null>();
    const walk = (node: Node, path: string): void => {
      if (node.kind === "file") {
        const kept = node.durable.length + Math.floor((node.data.length - node.durable.length) * loss.data);
        return void left.set(path, node.data.subarray(0, kept));
      }
      left.set(path, null);
      const entries = new Map(node.durable);
      node.pending.forEach((change, i) => loss.survives(i) && change(entries));
      for (const [name, child] of entries) walk(child, `${path}/${name}`);
    };
    walk(this.#tree, "");
    return left;
  }

  #find(path: string): Node | undefined {
    if (path === this.#root) return this.#tree;
    const names = path.slice(this.#root.length + 1).split("/");
    return names.reduce<Node | undefined>(
      (node, name) => (node?.kind === "dir" ? node.entries.get(name) : undefined),
      this.#tree,
    );
  }

  #change(path: string, change: (entries: Map<string, Node>) => void): void {
    const dir = this.#find(path.slice(0, path.lastIndexOf("/"))) as DirNode;
    change(dir.entries);
    dir.pending.push(change);
  }

  #add(path: string, node: Node): void {
    this.#change(path, (entries) => entries.set(nameOf(path), node));
  }

  #remove(path: string, _done: void): void {
    this.#change(path, (entries) => entries.delete(nameOf(path)));
  }
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

function sync(dir: DirNode): void {
  dir.durable = new Map(dir.entries);
  dir.pending = [];
}
