// Lines at the bottom of a terminal that are drawn again and again, while others' output goes above them.
//
// The cursor rests at the region's first character. A terminal that breaks lines anew when it is made narrower keeps the
// cursor at that character, so erasing from there on always takes the region and never a line above it.
import { textWidth } from "./width.ts";

const ERASE_LINE_END = "\u001B[K";
const ERASE_BELOW = "\u001B[J";
const up = (rows: number): string => (rows > 0 ? `\u001B[${rows}A` : "");

/** More of an unfinished line than this is not written again. */
const LONGEST_PARTIAL = 4000;

/** Says what to write; writes nothing itself. */
export class Region {
  #lines: readonly string[] = [];
  #drawn = false;
  /** The unfinished line that others have written: the region is drawn below it, and it may go on. */
  #partial = "";

  get isDrawn(): boolean {
    return this.#drawn;
  }

  get hasPartial(): boolean {
    return this.#partial !== "";
  }

  get height(): number {
    return this.#lines.length;
  }

  /** Draws the region, over the one that is there. */
  draw(lines: readonly string[] = this.#lines): string {
    this.#lines = lines;
    if (lines.length === 0) return this.erase();
    const below = !this.#drawn && this.#partial !== "" ? "\n" : "";
    this.#drawn = true;
    const text = lines.map((line) => `${line}${ERASE_LINE_END}`).join("\n");
    return `${below}\r${text}${ERASE_BELOW}${up(lines.length - 1)}\r`;
  }

  /** Takes the region away; what is written then comes in its place, or goes on with an unfinished line. */
  erase(columns = Infinity): string {
    if (!this.#drawn) return "";
    this.#drawn = false;
    const partial = this.#partial;
    const rows = Math.max(1, Math.ceil(textWidth(partial) / columns));
    return `\r${ERASE_BELOW}${partial === "" ? "" : `${up(rows)}\r${partial}`}`;
  }

  /** Others' output, with the region out of its way. */
  above(text: string, columns: number): string {
    const cleared = this.erase(columns);
    const written = this.#partial + text;
    this.#partial = written.slice(written.lastIndexOf("\n") + 1).slice(-LONGEST_PARTIAL);
    return cleared + text;
  }

  /** Ends an unfinished line. */
  endPartial(): string {
    const open = this.#partial !== "";
    this.#partial = "";
    return open ? "\n" : "";
  }
}
