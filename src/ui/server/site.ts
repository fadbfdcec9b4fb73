// What the routes of one server share.
import type { CommandSender } from "./commands.ts";
import type { Reader } from "./reader.ts";
import type { RunIndex } from "./run-index.ts";
import type { Streams } from "./streams.ts";
import type { Studies } from "./studies.ts";
import type { Tokens } from "./tokens.ts";

export interface Site {
  readonly version: string;
  /** The directory that is shown: in full, and as its user named it. */
  readonly root: string;
  readonly shownRoot: string;
  /** Whether commands are refused. */
  readonly readOnly: boolean;
  readonly tokens: Tokens;
  readonly index: RunIndex;
  readonly reader: Reader;
  readonly streams: Streams;
  readonly commands: CommandSender;
  readonly studies: Studies;
  /** The address of a new link that works once. */
  newLink(): string;
}
