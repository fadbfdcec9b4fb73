// Cells of a CSV file: quoted as RFC 4180 says, one line a row, and nothing that a spreadsheet would run.

/** A spreadsheet takes a cell that begins like this for a formula, and a formula can send what is in the sheet away. */
const FORMULA = /^\s*[=+\-@＝＋－＠]/;
const BREAKS = /[\r\n]+/g;
const LONGEST_TEXT = 32_000;

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A text that is safe to open, with its line breaks as spaces: a row is a line, so that a torn one can be told. */
export function textCell(text: string): string {
  const isLong = text.length > LONGEST_TEXT;
  const line = (isLong ? `${text.slice(0, LONGEST_TEXT)}…` : text).replace(BREAKS, " ");
  return quoted(FORMULA.test(line) ? `'${line}` : line);
}

/** The cells of a row, as they are written, quotes included. */
export function splitRow(row: string): string[] {
  const cells: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let i = 0; i <= row.length; i++) {
    if (row[i] === '"') isQuoted = !isQuoted;
    else if (i === row.length || (row[i] === "," && !isQuoted)) {
      cells.push(row.slice(start, i));
      start = i + 1;
    }
  }
  return cells;
}
