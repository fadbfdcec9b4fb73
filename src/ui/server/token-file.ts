// The file from which scripts take the token of a server.
import { closeSync, constants, fstatSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { OptionError } from "../../core/errors.ts";
import { codeOf } from "../../platform/file-errors.ts";
import { newToken } from "./tokens.ts";

const SHORTEST = 32;
/** Bits of a file's mode that let others read or write it. */
const OTHERS = 0o077;

/** The token in a file, which is created if there is none. A file that others can read is refused. */
export function readToken(file: string): string {
  try {
    const token = newToken();
    writeFileSync(file, `${token}\n`, { flag: "wx", mode: 0o600 });
    return token;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (process.platform !== "win32" && (fstatSync(fd).mode & OTHERS) !== 0)
      throw new OptionError(
        `${file}: others can read this token. Run \`chmod 600 ${file}\`, after putting a new one there.`,
      );
    const token = readFileSync(fd, "utf8").trim();
    if (token.length >= SHORTEST && /^[\x21-\x7e]+$/.test(token)) return token;
    throw new OptionError(
      `${file}: expected a token of ${SHORTEST} or more visible characters. Delete the file to get one.`,
    );
  } finally {
    closeSync(fd);
  }
}
