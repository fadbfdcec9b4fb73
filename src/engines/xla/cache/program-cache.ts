// Compiled programs on disk: a program that was compiled once, here or in another process, is loaded instead. The key is
// everything that a compilation depends on. An entry that is damaged or refused is compiled again and replaced.
import { builtin } from "../../../platform/builtin.ts";
import { writeAtomically } from "../../../runs/atomic-write.ts";
import type { PjrtClient } from "../pjrt/client.ts";
import { compileOptions, type XlaFlags } from "../pjrt/options.ts";
import type { PjrtProgram } from "../pjrt/program.ts";
import { cacheFolder, entryFile, limitCache } from "./cache-folder.ts";

const OWNER = 'Engine "xla"';
/** In front of each entry, followed by the key and the SHA-256 of the program. XLA may end the process over damaged bytes. */
const MAGIC = "hookline program 1\n";
const HASH_BYTES = 32;
const HEAD_BYTES = MAGIC.length + 2 * HASH_BYTES;

type Warn = (message: string) => void;

export class ProgramCache {
  readonly #client: PjrtClient;
  readonly #folder: string;
  readonly #warn: Warn;
  /** What is the same for all programs of the client. */
  readonly #identity: readonly string[];
  /** A plugin that cannot serialize, or a disk that cannot be written to, is tried once. */
  #canStore = true;
  #hasWarned = false;

  constructor(client: PjrtClient, warn: Warn, folder = cacheFolder()) {
    this.#client = client;
    this.#folder = folder;
    this.#warn = warn;
    this.#identity = [
      MAGIC,
      client.api.version,
      fileIdentity(client.api.path),
      client.platform,
      client.platformVersion,
      client.deviceKind,
      process.arch,
      // XLA reads it when it compiles.
      process.env.XLA_FLAGS ?? "",
    ];
  }

  /** The program from the disk, else compiled and stored. */
  async compile(text: string, flags: XlaFlags): Promise<PjrtProgram> {
    const key = sha256(JSON.stringify([...this.#identity, [...compileOptions(flags, this.#client.devices)], text]));
    const found = await this.#load(key);
    if (found) return found;
    const program = await this.#client.compile(text, flags);
    if (this.#canStore) await this.#store(key, program);
    return program;
  }

  async #load(key: Uint8Array): Promise<PjrtProgram | undefined> {
    const fs = builtin(OWNER, "node:fs/promises");
    const file = this.#file(key);
    const entry = await fs.readFile(file).catch(() => undefined);
    if (!entry) return undefined;
    const serialized = payload(entry, key);
    if (!serialized) return this.#replaced(file, "is damaged");
    try {
      const program = await this.#client.load(serialized);
      // The oldest entries are removed first: this one is in use.
      const now = new Date();
      await fs.utimes(file, now, now).catch(() => undefined);
      return program;
    } catch (error) {
      return this.#replaced(file, `was refused by the plugin (${(error as Error).message})`);
    }
  }

  async #store(key: Uint8Array, program: PjrtProgram): Promise<void> {
    let serialized: Uint8Array;
    try {
      serialized = program.serialize();
    } catch {
      // Not every plugin can.
      this.#canStore = false;
      return;
    }
    try {
      // What is loaded is run: nobody else may write here.
      await builtin(OWNER, "node:fs/promises").mkdir(this.#folder, { recursive: true, mode: 0o700 });
      const head = [new TextEncoder().encode(MAGIC), key, sha256(serialized)];
      await writeAtomically(this.#file(key), [...head, serialized], OWNER);
      await limitCache(this.#folder);
    } catch (error) {
      this.#canStore = false;
      this.#warnOnce(
        `compiled programs cannot be stored in ${this.#folder} (${(error as Error).message}): each process compiles its own. Name another folder in HOOKLINE_CACHE`,
      );
    }
  }

  #replaced(file: string, why: string): undefined {
    this.#warnOnce(`the compiled program ${file} ${why}. It is compiled again and replaced`);
  }

  /** The first one tells what is wrong with the folder; many programs may be. */
  #warnOnce(message: string): void {
    if (!this.#hasWarned) this.#warn(`${OWNER}: ${message}.`);
    this.#hasWarned = true;
  }

  #file(key: Uint8Array): string {
    return entryFile(this.#folder, Buffer.from(key).toString("hex"));
  }
}

/** The serialized program in an entry; undefined if it is not whole, or another's. */
function payload(entry: Uint8Array, key: Uint8Array): Uint8Array | undefined {
  if (entry.length <= HEAD_BYTES || new TextDecoder().decode(entry.subarray(0, MAGIC.length)) !== MAGIC)
    return undefined;
  const keyEnd = MAGIC.length + HASH_BYTES;
  const serialized = entry.subarray(HEAD_BYTES);
  const isOwn = Buffer.compare(entry.subarray(MAGIC.length, keyEnd), key) === 0;
  const isWhole = Buffer.compare(entry.subarray(keyEnd, HEAD_BYTES), sha256(serialized)) === 0;
  return isOwn && isWhole ? serialized : undefined;
}

const sha256 = (data: string | Uint8Array): Uint8Array =>
  builtin(OWNER, "node:crypto").createHash("sha256").update(data).digest();

/** The interface has no version of the plugin itself, so its file tells it. A name without a folder tells nothing. */
function fileIdentity(path: string): string {
  const stats = builtin(OWNER, "node:fs").statSync(path, { throwIfNoEntry: false });
  return stats ? `${stats.size} bytes of ${stats.mtimeMs}` : path;
}
