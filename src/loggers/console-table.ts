// Rows of numbers under their names: columns stay where they are, and their names come again before they scroll away.
import { paint, type Style } from "../hooks/lib/terminal-paint.ts";
import { textWidth } from "../hooks/lib/terminal-width.ts";

/** The longest number: `-1.234e-10`. */
const NUMBER_WIDTH = 10;
const GAP = "  ";

export interface Cell {
  readonly text: string;
  /** Not a number, or infinite. */
  readonly bad: boolean;
}

export class Table {
  readonly #style: Style;
  readonly #headerEvery: number;
  /** In the order of their first appearance. */
  readonly #names: string[];
  #shown: readonly string[] = [];
  #rows = 0;

  /** `first` are the columns that every row has. */
  constructor(first: readonly string[], headerEvery: number, style: Style) {
    this.#names = [...first];
    this.#headerEvery = headerEvery;
    this.#style = style;
  }

  /** The row, after a header if it needs one. Columns that have no room in `width` are left out, and counted in the header. */
  row(cells: ReadonlyMap<string, Cell>, width: number): string[] {
    for (const name of cells.keys()) if (!this.#names.includes(name)) this.#names.push(name);
    const shown = this.#fitting(width);
    const changed = shown.length !== this.#shown.length || shown.some((name, i) => name !== this.#shown[i]);
    this.#shown = shown;
    const { bold, red } = paint(this.#style.color);
    const line = this.#line((name) => {
      const { text = "", bad = false } = cells.get(name) ?? {};
      return [text, bad ? (padded) => bold(red(padded)) : undefined];
    });
    if (!changed && this.#rows < this.#headerEvery) {
      this.#rows++;
      return [line];
    }
    this.#rows = 1;
    return [this.#header(), line];
  }

  #fitting(width: number): string[] {
    let used = 0;
    const fits = this.#names.findIndex((name) => (used += columnWidth(name) + GAP.length) > width);
    return fits < 0 ? [...this.#names] : this.#names.slice(0, Math.max(1, fits));
  }

  #header(): string {
    const { dim } = paint(this.#style.color);
    const hidden = this.#names.length - this.#shown.length;
    return dim(this.#line((name) => [name, undefined]) + (hidden > 0 ? ` +${hidden}` : ""));
  }

  #line(cell: (name: string) => [text: string, painted: ((text: string) => string) | undefined]): string {
    const cells = this.#shown.map((name) => {
      const [text, painted = (same: string) => same] = cell(name);
      return painted(" ".repeat(Math.max(0, columnWidth(name) - textWidth(text))) + text);
    });
    return cells.join(GAP).trimEnd();
  }
}

const columnWidth = (name: string): number =>
  name === "epoch" ? name.length : Math.max(name === "step" ? 7 : NUMBER_WIDTH, textWidth(name));
