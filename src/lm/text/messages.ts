// A conversation: what its messages may be.
import { DataError } from "../../core/errors.ts";
import { didYouMean } from "../../core/names.ts";
import { is, show } from "../../core/options.ts";

/** One message of a conversation. A template may use other fields, such as `tool_calls`. */
export interface Message {
  readonly role: string;
  readonly content: string;
  readonly [key: string]: unknown;
}

/** The roles that templates know. */
const ROLES = ["system", "developer", "user", "assistant", "tool"];

/** Checks messages as they come from a file. `template` may name further roles. */
export function checkMessages(value: unknown, what: string, template: string): readonly Message[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new DataError(`${what} is ${show(value)}. Expected a list such as [{"role": "user", "content": "Hello"}].`);
  }
  for (const [i, message] of (value as unknown[]).entries()) checkMessage(message, `${what}[${i}]`, template);
  return value as readonly Message[];
}

function checkMessage(message: unknown, what: string, template: string): void {
  if (!is.object.test(message)) throw new DataError(`${what} is ${show(message)}. Expected {"role": …, "content": …}.`);
  const { role, content, ...others } = message as Record<string, unknown>;
  if (typeof role !== "string") {
    const near = "from" in others ? " Rename `from` to `role` and `value` to `content`." : "";
    throw new DataError(`${what} has no \`role\` (a string).${near}`);
  }
  if (!ROLES.includes(role) && !template.includes(`'${role}'`) && !template.includes(`"${role}"`)) {
    throw new DataError(
      `${what} has the unknown role ${show(role)}.${didYouMean(role, ROLES)} Roles: ${ROLES.join(", ")}.`,
    );
  }
  // A call of a tool is an answer without words.
  const calls = others.tool_calls;
  if (Array.isArray(calls) && calls.length > 0 && (content === undefined || content === null || content === "")) return;
  if (Array.isArray(content)) {
    throw new DataError(
      `${what} has a list as \`content\`: only text can be trained on. Join its parts into one string.`,
    );
  }
  if (typeof content !== "string") throw new DataError(`${what} has no \`content\` (a string), got ${show(content)}.`);
  if (content.trim() === "") throw new DataError(`${what} (${role}) has empty \`content\`.`);
}
