// The rows of a CSV text: cells between separators, quoted where they hold one, a quote or a line break.

export interface Row {
  readonly cells: readonly string[];
  /** From 1, for messages. */
  readonly line: number;
}

/** Lines that are empty are no rows. */
export function csvRows(text: string, separator: string): Row[] {
  const clean = text.startsWith("\uFEFF") ? text.slice(1) : text;
  if (clean.includes('"')) return quotedRows(clean, separator);
  const rows: Row[] = [];
  for (const [i, line] of clean.split(/\r\n|\n|\r/).entries())
    if (line.trim() !== "") rows.push({ cells: line.split(separator), line: i + 1 });
  return rows;
}

function quotedRows(text: string, separator: string): Row[] {
  const rows: Row[] = [];
  let cells: string[] = [];
  let cell = "";
  let [line, began] = [1, 1];
  let quoted = false;
  const endRow = (): void => {
    cells.push(cell);
    if (cells.some((each) => each.trim() !== "")) rows.push({ cells, line: began });
    [cells, cell, began] = [[], "", line];
  };
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (char === "\n") line++;
    if (quoted) {
      if (char !== '"') cell += char;
      else if (text[i + 1] === '"') {
        cell += '"';
        i++;
      } else quoted = false;
    } else if (char === '"') quoted = true;
    else if (text.startsWith(separator, i)) {
      cells.push(cell);
      cell = "";
      i += separator.length - 1;
    } else if (char === "\n") endRow();
    else if (char !== "\r") cell += char;
  }
  if (cell !== "" || cells.length > 0) endRow();
  return rows;
}
