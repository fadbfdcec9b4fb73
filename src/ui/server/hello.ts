// What `control()` says of a run in control/hello.json.
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import type { ControlHello } from "../wire.ts";

export const HELLO_FILE = "control/hello.json";
const MOST_BYTES = 1024 * 1024;

/** Undefined when there is none, or none of ours. */
export function readHello(dir: string): ControlHello | undefined {
  try {
    const fd = openSync(`${dir}/${HELLO_FILE}`, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (fstatSync(fd).size > MOST_BYTES) return undefined;
      const hello = JSON.parse(readFileSync(fd, "utf8")) as ControlHello | null;
      return typeof hello?.run === "string" ? hello : undefined;
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}
