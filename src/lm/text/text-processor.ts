// Everything that runs a model's own tokenizer and templates: texts to ids and back, conversations to texts, lines of a file
// to examples. In Node it runs in a thread (text-runner.ts), since patterns and templates are data that may hang.
import { DataError } from "../../core/errors.ts";
import { messageOf } from "../../core/maybe.ts";
import { optionalPackage } from "../../platform/optional-package.ts";
import { ChatTemplate, type Conversation, type Jinja, type Rendered } from "./chat-template.ts";
import { convertLines, type Converted, type Lines } from "./examples/convert.ts";
import type { TokenizerFiles } from "./tokenizer-files.ts";
import { withoutPrefix } from "./without-prefix.ts";

/** What a program needs to know of a tokenizer without asking it. */
export interface TokenizerFacts {
  /** One more than the largest id. */
  readonly vocabularySize: number;
  readonly bosId: number | undefined;
  readonly eosId: number | undefined;
  readonly padId: number | undefined;
  /** Ids that `addSpecialTokens` puts before a text. */
  readonly prefix: readonly number[];
}

/** Says what is worked on: its characters, and its line in a file. */
export type Tick = (characters: number, line: number) => void;

/** Of the package @huggingface/tokenizers. */
interface HuggingFaceTokenizer {
  readonly special_tokens: readonly string[];
  encode(text: string, options: { readonly add_special_tokens: boolean }): { readonly ids: readonly number[] };
  decode(
    ids: readonly number[],
    options: { readonly skip_special_tokens: boolean; readonly clean_up_tokenization_spaces: boolean },
  ): string;
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
  get_vocab(): ReadonlyMap<string, number>;
}

interface Tokenizers {
  readonly Tokenizer: new (tokenizer: object, config: object) => HuggingFaceTokenizer;
}

const PACKAGES = ["@huggingface/tokenizers@0.2", "@huggingface/jinja@0.5"];
const OWNER = "The tokenizer of a language model";

export class TextProcessor {
  readonly facts: TokenizerFacts;
  readonly #files: TokenizerFiles;
  readonly #jinja: Jinja;
  readonly #whole: HuggingFaceTokenizer;
  readonly #makeContinuing: (() => HuggingFaceTokenizer) | undefined;
  #continuing: HuggingFaceTokenizer | undefined;
  readonly #tick: Tick;
  readonly #templates = new Map<string, ChatTemplate>();

  static async load(files: TokenizerFiles, tick: Tick): Promise<TextProcessor> {
    const tokenizers = await optionalPackage<Tokenizers>(OWNER, "@huggingface/tokenizers", PACKAGES);
    const jinja = await optionalPackage<Jinja>(OWNER, "@huggingface/jinja", PACKAGES);
    return new TextProcessor(files, tokenizers, jinja, tick);
  }

  private constructor(files: TokenizerFiles, tokenizers: Tokenizers, jinja: Jinja, tick: Tick) {
    this.#files = files;
    this.#jinja = jinja;
    this.#tick = tick;
    const parsed = parse(files);
    // The package expects texts where older files have objects.
    const config = { ...files.config, ...files.special };
    const make = (json: object): HuggingFaceTokenizer => {
      try {
        return new tokenizers.Tokenizer(json, config);
      } catch (cause) {
        throw new DataError(`${files.path}/tokenizer.json cannot be used: ${messageOf(cause)}`, { cause });
      }
    };
    this.#whole = make(parsed);
    const bare = withoutPrefix(parsed);
    this.#makeContinuing = bare && (() => make(bare));
    this.facts = this.#factsOf();
  }

  #factsOf(): TokenizerFacts {
    const { special, ids } = this.#files;
    const idOf = (name: "bos" | "eos" | "pad"): number | undefined => {
      const text = special[`${name}_token`];
      return (text === undefined ? undefined : this.tokenId(text)) ?? ids[name];
    };
    let vocabularySize = 0;
    for (const id of this.#whole.get_vocab().values()) vocabularySize = Math.max(vocabularySize, id + 1);
    return { vocabularySize, bosId: idOf("bos"), eosId: idOf("eos"), padId: idOf("pad"), prefix: this.#prefix() };
  }

  /** What comes before a text with special tokens that is not there without them. */
  #prefix(): readonly number[] {
    const [plain, all] = [this.encode("a", false, false), this.encode("a", true, false)];
    const at = all.findIndex((_, i) => plain.every((id, k) => all[i + k] === id));
    return [...all.subarray(0, Math.max(0, at))];
  }

  /** @param continues the text continues another one: no space is put before it */
  encode(text: string, addSpecialTokens: boolean, continues: boolean): Int32Array {
    if (text === "" && !addSpecialTokens) return new Int32Array();
    return Int32Array.from(this.#tokenizerFor(continues).encode(text, { add_special_tokens: addSpecialTokens }).ids);
  }

  #tokenizerFor(continues: boolean): HuggingFaceTokenizer {
    if (!continues || this.#makeContinuing === undefined) return this.#whole;
    return (this.#continuing ??= this.#makeContinuing());
  }

  /** Ids that are in no vocabulary have no text. */
  decode(ids: ArrayLike<number>, skipSpecialTokens: boolean): string {
    const known = Array.from(ids).filter((id) => this.#whole.id_to_token(id) !== undefined);
    if (known.length === 0) return "";
    // Without the package's clean-up of spaces: it would change the text, and transformers 5 does not do it either.
    const options = { skip_special_tokens: skipSpecialTokens, clean_up_tokenization_spaces: false };
    return this.#whole.decode(known, options);
  }

  tokenId(token: string): number | undefined {
    return this.#whole.token_to_id(token);
  }

  /** @param template in place of the tokenizer's own */
  render(conversation: Conversation, template: string | undefined): Rendered {
    return this.template(conversation.tools, template).render(conversation);
  }

  /** The template for a conversation: with tools there may be one of its own. */
  template(tools: readonly object[] | undefined, given: string | undefined): ChatTemplate {
    const { templates, path } = this.#files;
    const source = given ?? (tools ? templates.tool_use : undefined) ?? templates.default;
    if (source === undefined) {
      throw new DataError(
        `${path} has no chat template, which \`messages\` need. Give one (\`template\`), or write the data as \`prompt\` and \`completion\`.`,
      );
    }
    let made = this.#templates.get(source);
    if (!made) this.#templates.set(source, (made = new ChatTemplate(this.#jinja, source, this.#files.special)));
    return made;
  }

  /** Does the text end with a token that is not of ordinary text, such as the end of a turn? */
  endsSpecial(text: string): boolean {
    return this.#whole.special_tokens.some((token) => text.endsWith(token));
  }

  convert(lines: Lines): Converted {
    return convertLines(this, lines, this.#tick);
  }
}

function parse({ path, tokenizer }: TokenizerFiles): object {
  try {
    return JSON.parse(tokenizer) as object;
  } catch (cause) {
    throw new DataError(`${path}/tokenizer.json is not JSON: ${messageOf(cause)}`, { cause });
  }
}
