// Rows of numbers under their names: columns stay where they are, and their names come again before they scroll away.
import { paint, type Paint, type Style } from "../terminal/paint.ts";
import { textWidth } from "../terminal/width.ts";

/** The longest number: `-1.234e-10`. */
const NUMBER_WIDTH = 10;
const GAP = "  ";

export interface Cell {
  readonly text: string;
  /** Not a number, or infinite. */
  readonly bad: boolean;
}

const EMPTY: Cell = { text: "", bad: false };

export class Table {
  readonly #paint: Paint;
  readonly #headerEvery: number;
  /** In the order of their first appearance. */
  readonly #columns = new Map<string, number>();
  /** Those that have room. */
  #shown: readonly (readonly [name: string, width: number])[] = [];
  #fittedTo = { columns: 0, width: 0 };
  #rows = 0;

  /** `first` are the columns that every row has. */
  constructor(first: readonly string[], headerEvery: number, style: Style) {
    for (const name of first) this.#columns.set(name, columnWidth(name));
    this.#headerEvery = headerEvery;
    this.#paint = paint(style.color);
  }

  /** The row, after a header if it needs one. Columns that have no room in `width` are left out, and counted in the header. */
  row(cells: ReadonlyMap<string, Cell>, width: number): string[] {
    for (const name of cells.keys()) if (!this.#columns.has(name)) this.#columns.set(name, columnWidth(name));
    const changed = this.#fit(width);
    const { bold, red } = this.#paint;
    const texts = this.#shown.map(([name, columns]) => {
      const { text, bad } = cells.get(name) ?? EMPTY;
      const padded = text.padStart(columns);
      return bad ? bold(red(padded)) : padded;
    });
    const line = texts.join(GAP).trimEnd();
    if (!changed && this.#rows < this.#headerEvery) {
      this.#rows++;
      return [line];
    }
    this.#rows = 1;
    return [this.#header(), line];
  }

  /** True when the columns are others than before. */
  #fit(width: number): boolean {
    const { columns, width: before } = this.#fittedTo;
    if (columns === this.#columns.size && width === before) return false;
    this.#fittedTo = { columns: this.#columns.size, width };
    const last = this.#shown.length;
    const all = [...this.#columns];
    let used = 0;
    const fits = all.findIndex(([, each]) => (used += each + GAP.length) > width);
    this.#shown = fits < 0 ? all : all.slice(0, Math.max(1, fits));
    // A hidden column more is news for the header too.
    return this.#shown.length !== last || columns !== this.#columns.size;
  }

  #header(): string {
    const names = this.#shown.map(([name, columns]) => " ".repeat(columns - textWidth(name)) + name);
    const hidden = this.#columns.size - this.#shown.length;
    return this.#paint.dim(names.join(GAP) + (hidden > 0 ? ` +${hidden}` : ""));
  }
}

const columnWidth = (name: string): number =>
  name === "epoch" ? name.length : Math.max(name === "step" ? 7 : NUMBER_WIDTH, textWidth(name));
