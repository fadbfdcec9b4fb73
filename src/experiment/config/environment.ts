// Environment variables in strings: ${NAME}, ${NAME:-default}, and $${ for a literal ${.
import { didYouMean } from "../../core/names.ts";
import { ConfigError, type ConfigPath, type Position } from "./config-error.ts";
import { isForbidden, type ConfigNode, type LeafNode } from "./config-tree.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const PART = /\$\$\{|\$\{([^}]*)(\}?)/g;
const REFERENCE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/** Where the text is, for messages. */
interface TextPosition {
  readonly path: ConfigPath;
  readonly at: Position;
}

/** What `${inside}` stands for. */
function valueOf(inside: string, closed: boolean, env: Environment, { path, at }: TextPosition): string {
  const [, name, fallback] = REFERENCE.exec(inside) ?? [];
  if (!closed || name === undefined || fallback?.includes("${"))
    throw new ConfigError(
      "Expected `${NAME}` or `${NAME:-default}`, with nothing nested in it. A literal `${` is written `$${`.",
      path,
      at,
    );
  if (isForbidden(name)) throw new ConfigError(`\`${name}\` cannot be the name of a variable here.`, path, at);
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  // As in a shell, `:-` also replaces an empty value.
  if (fallback !== undefined) return value || fallback;
  if (value !== undefined) return value;
  const close = didYouMean(name, Object.keys(env));
  throw new ConfigError(
    `The environment variable \`${name}\` is not set.${close} Set it, or give a default: \`\${${name}:-…}\`.`,
    path,
    at,
  );
}

/** A text with its variables filled in. A text that is a single variable is read as a YAML scalar. */
export function fillText(text: string, env: Environment, path: ConfigPath, at: Position): LeafNode["value"] {
  if (!text.includes("${")) return text;
  const position = { path, at };
  const whole = /^\$\{([^}]*)\}$/.exec(text);
  if (whole) return readScalar(valueOf(whole[1]!, true, env, position));
  return text.replaceAll(PART, (part, inside: string | undefined, end: string | undefined) =>
    inside === undefined ? part.slice(1) : valueOf(inside, end === "}", env, position),
  );
}

/** The same tree with every string filled in. Keys stay as they are. */
export function fillTree(node: ConfigNode, env: Environment, path: ConfigPath = []): ConfigNode {
  if (node.kind === "list") return { ...node, items: node.items.map((item, i) => fillTree(item, env, [...path, i])) };
  if (node.kind === "leaf")
    return typeof node.value === "string" ? { ...node, value: fillText(node.value, env, path, node.at) } : node;
  const entries = [...node.entries].map(
    ([key, { at, value }]) => [key, { at, value: fillTree(value, env, [...path, key]) }] as const,
  );
  return { ...node, entries: new Map(entries) };
}

/** A text without quotes as YAML 1.2 reads it: null, a boolean, a number, else the text. */
function readScalar(text: string): string | number | boolean | null {
  if (/^(?:~|null|Null|NULL)?$/.test(text)) return null;
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  if (/^0x[0-9a-fA-F]+$|^0o[0-7]+$/.test(text)) return Number(text);
  if (/^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/.test(text)) return Number(text);
  if (/^[-+]?\.(?:inf|Inf|INF)$/.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  if (/^\.(?:nan|NaN|NAN)$/.test(text)) return Number.NaN;
  return text;
}
