// Reads the fields of a config.json. What no reader asked for must be harmless: a field that is not understood could change
// the mathematics, and the model would write nonsense without a word.
import { CheckpointError } from "../../core/errors.ts";
import { didYouMean } from "../../core/names.ts";
import { show, type Check, is } from "../../core/options.ts";

/** Fields of a config.json that say nothing about the forward pass. */
export const HARMLESS: ReadonlySet<string> = new Set([
  "_attn_implementation",
  "_attn_implementation_autoset",
  "_name_or_path",
  "_sliding_window_pattern",
  "architectures",
  "attention_dropout",
  "attn_pdrop",
  "bos_token_id",
  "cache_implementation",
  "dtype",
  "embd_pdrop",
  "eos_token_id",
  "id2label",
  "is_llama_config",
  "label2id",
  "max_length",
  "model_type",
  "n_ctx",
  "name_or_path",
  "pad_token_id",
  "pretraining_tp",
  "problem_type",
  "reorder_and_upcast_attn",
  "resid_pdrop",
  "sliding_window_size",
  "summary_activation",
  "summary_first_dropout",
  "summary_proj_to_labels",
  "summary_type",
  "summary_use_proj",
  "task_specific_params",
  "torch_dtype",
  "transformers.js_config",
  "transformers_version",
  "use_cache",
]);

const FIX =
  "hookline loads only what it computes exactly as transformers does. If the field changes nothing, remove it from a copy of the file.";

/** Null, false, and objects and lists without entries. */
const isNothing = (value: unknown): boolean =>
  value === null || value === false || (typeof value === "object" && Object.keys(value).length === 0);

/** The fields of an object of a config file, each read once. */
export class ConfigFields {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #file: string;
  /** Where the object is in the file: `rope_scaling.`, or empty. */
  readonly #path: string;
  readonly #harmless: ReadonlySet<string>;
  readonly #read = new Set<string>();

  constructor(
    fields: Readonly<Record<string, unknown>>,
    file: string,
    { path = "", harmless = new Set() }: { readonly path?: string; readonly harmless?: ReadonlySet<string> } = {},
  ) {
    this.#fields = fields;
    this.#file = file;
    this.#path = path;
    this.#harmless = harmless;
  }

  /** An error about a field. */
  wrong(name: string, reason: string, fix = FIX): CheckpointError {
    return new CheckpointError(this.#file, `\`${this.#path}${name}\` ${reason}`, fix);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#fields, name) && this.#fields[name] !== null;
  }

  /** Without a default the field must be there; null counts as absent. */
  whole(name: string, absent?: number): number {
    return this.#get(name, is.wholeFrom(1), absent);
  }

  positive(name: string, absent?: number): number {
    return this.#get(name, { ...is.positive, test: (v) => is.positive.test(v) && v !== Infinity }, absent);
  }

  flag(name: string, absent: boolean): boolean {
    return this.#get(name, is.boolean, absent);
  }

  text(name: string, absent?: string): string {
    return this.#get(name, is.string, absent);
  }

  /** A number where null means none, and absence the default. */
  positiveOrNone(name: string, absent: number | undefined): number | undefined {
    this.#read.add(name);
    if (this.#fields[name] === null) return undefined;
    return absent === undefined && !this.has(name) ? undefined : this.positive(name, absent);
  }

  list(name: string, each: Check): readonly unknown[] | undefined {
    return this.has(name) ? this.#get<readonly unknown[]>(name, is.arrayOf(each)) : undefined;
  }

  object(name: string): ConfigFields | undefined {
    if (!this.has(name)) {
      this.#read.add(name);
      return undefined;
    }
    const fields = this.#get<Readonly<Record<string, unknown>>>(name, is.object);
    return new ConfigFields(fields, this.#file, { path: `${this.#path}${name}.` });
  }

  /** Marks a field as understood. */
  ignore(...names: readonly string[]): void {
    for (const name of names) this.#read.add(name);
  }

  /** Throws if a field is left that nothing has read and that may matter. */
  finish(): void {
    for (const [name, value] of Object.entries(this.#fields)) {
      if (isNothing(value) || this.#read.has(name) || this.#harmless.has(name)) continue;
      const near = didYouMean(name, [...this.#read]);
      throw this.wrong(name, `is ${show(value)}, and hookline does not know this field here`, FIX + near);
    }
  }

  #get<T>(name: string, check: Check, absent?: T): T {
    this.#read.add(name);
    const value = this.has(name) ? this.#fields[name] : absent;
    if (value === undefined) throw this.wrong(name, "is missing", `It must be ${check.expected}.`);
    if (!check.test(value)) throw this.wrong(name, `is ${show(value)}`, `It must be ${check.expected}.`);
    return value as T;
  }
}
