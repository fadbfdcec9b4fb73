// A terminal in a few lines: as much of a VT100 as our output uses, for tests that need no process.

export class Vt {
  readonly columns: number;
  readonly rows: number;
  cursorShown = true;
  #grid: string[][] = [[]];
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  /** Everything that was ever on it, also what has scrolled away. */
  get lines(): string[] {
    return this.#grid.map((line) =>
      Array.from(line, (char) => char ?? " ")
        .join("")
        .trimEnd(),
    );
  }

  get text(): string {
    return this.lines.join("\n").trimEnd();
  }

  write(text: string): void {
    // oxlint-disable-next-line no-control-regex -- escape codes are control characters
    for (const [token] of text.matchAll(/\u001B\[[0-9;?]*[A-Za-z]|[^]/gu)) this.#take(token);
  }

  #take(token: string): void {
    if (token.length > 1 && token.startsWith("\u001B")) this.#escape(token.at(-1)!, token.slice(2, -1));
    else if (token === "\r") this.#column = 0;
    else if (token === "\n") this.#newLine();
    else this.#put(token);
  }

  #put(char: string): void {
    if (this.#column >= this.columns) this.#newLine();
    this.#grid[this.#row]![this.#column++] = char;
  }

  /** As the system's terminal driver has it: a line feed is also a carriage return. */
  #newLine(): void {
    this.#row++;
    this.#column = 0;
    this.#grid[this.#row] ??= [];
  }

  #escape(kind: string, argument: string): void {
    const line = this.#grid[this.#row]!;
    if (kind === "K") line.length = Math.min(line.length, this.#column);
    else if (kind === "J") {
      line.length = Math.min(line.length, this.#column);
      this.#grid.length = this.#row + 1;
    } else if (kind === "A") {
      // Not further up than what is on the screen.
      this.#row = Math.max(0, this.#grid.length - this.rows, this.#row - Number(argument || 1));
    } else if (argument === "?25") this.cursorShown = kind === "h";
    else if (kind !== "m") throw new Error(`This terminal does not know ESC[${argument}${kind}`);
  }
}
