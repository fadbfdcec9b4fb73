// The files of a tokenizer as Hugging Face's libraries write them, read into plain data that a thread can be given.
import { DataError } from "../../core/errors.ts";
import { messageOf } from "../../core/maybe.ts";
import { is, show } from "../../core/options.ts";

/** What is read of a model's folder. */
export interface TextFiles {
  /** For messages. */
  readonly path: string;
  has(name: string): Promise<boolean>;
  readText(name: string): Promise<string>;
}

/** What a tokenizer is made of. */
export interface TokenizerFiles {
  /** For messages. */
  readonly path: string;
  /** The text of tokenizer.json. */
  readonly tokenizer: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** Texts of special tokens by name, such as `eos_token`. */
  readonly special: Readonly<Record<string, string>>;
  /** Ids of generation_config.json, for tokens that the tokenizer's files do not name. */
  readonly ids: { readonly bos?: number; readonly eos?: number; readonly pad?: number };
  /** Chat templates by name; the usual one is `default`. */
  readonly templates: Readonly<Record<string, string>>;
}

type Fields = Readonly<Record<string, unknown>>;

/** The names that transformers gives to further templates; a folder over HTTP cannot be listed. */
export const FURTHER_TEMPLATES = ["tool_use", "rag"] as const;

export const templatePath = (name: string): string => `additional_chat_templates/${name}.jinja`;

export async function readTokenizerFiles(files: TextFiles): Promise<TokenizerFiles> {
  if (!(await files.has("tokenizer.json"))) throw new DataError(await withoutTokenizer(files));
  const config = await readObject(files, "tokenizer_config.json");
  const generation = await readObject(files, "generation_config.json");
  return {
    path: files.path,
    tokenizer: await files.readText("tokenizer.json"),
    config,
    special: { ...specialIn(await readObject(files, "special_tokens_map.json")), ...specialIn(config) },
    ids: {
      ...idIn("bos", generation.bos_token_id),
      ...idIn("eos", generation.eos_token_id),
      ...idIn("pad", generation.pad_token_id),
    },
    templates: await readTemplates(files, config),
  };
}

async function withoutTokenizer(files: TextFiles): Promise<string> {
  const others = ["tokenizer.model", "vocab.json", "tekken.json"];
  const has = await Promise.all(others.map((name) => files.has(name)));
  const found = others.find((_, i) => has[i]);
  const what = found === undefined ? "" : ` Its ${found} is of another format.`;
  return `${files.path} has no tokenizer.json.${what} transformers writes one: AutoTokenizer.from_pretrained(…).save_pretrained(…).`;
}

/** Empty where there is no such file. */
async function readObject(files: TextFiles, name: string): Promise<Fields> {
  if (!(await files.has(name))) return {};
  let value: unknown;
  try {
    value = JSON.parse(await files.readText(name));
  } catch (cause) {
    throw new DataError(`${files.path}: ${name} is not JSON: ${messageOf(cause)}`, { cause });
  }
  if (is.object.test(value)) return value as Fields;
  throw new DataError(`${files.path}: ${name} is ${show(value)}; an object was expected.`);
}

/** `"</s>"`, or `{ "content": "</s>", … }`. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  const { content } = (value ?? {}) as { content?: unknown };
  return typeof content === "string" ? content : undefined;
}

function specialIn(fields: Fields): Record<string, string> {
  const named = Object.entries(fields).filter(([name]) => /^[a-z_]+_token$/.test(name));
  return Object.fromEntries(
    named.flatMap(([name, value]) => {
      const text = textOf(value);
      return text === undefined ? [] : [[name, text]];
    }),
  );
}

/** One id, or the first of several. */
function idIn(name: "bos" | "eos" | "pad", value: unknown): Record<string, number> {
  const id: unknown = Array.isArray(value) ? value[0] : value;
  return is.wholeFrom(0).test(id) ? { [name]: id as number } : {};
}

/** Those of tokenizer_config.json, and those of transformers 5, which are files and come first. */
async function readTemplates(files: TextFiles, config: Fields): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const listed: unknown = config.chat_template;
  if (typeof listed === "string") found.default = listed;
  else if (Array.isArray(listed)) {
    for (const each of listed as readonly Fields[])
      if (typeof each?.name === "string" && typeof each.template === "string") found[each.name] = each.template;
  }
  const paths = [
    ["default", "chat_template.jinja"],
    ...FURTHER_TEMPLATES.map((name) => [name, templatePath(name)]),
  ] as const;
  for (const [name, path] of paths) if (await files.has(path)) found[name] = await files.readText(path);
  return found;
}
