// The error for input that a model cannot take: it names the row and the column, so that a server can say it too.
import { DataError } from "../core/errors.ts";

/** A row that a predictor cannot take: which one, which of its columns, and why. */
export class InputError extends DataError {
  override name = "InputError";
  /** Its position in the call, from 0. */
  readonly row: number;
  /** The column or input; undefined if the whole row is wrong. */
  readonly column: string | undefined;
  /** What is wrong, as a sentence without the row and the column. */
  readonly problem: string;

  constructor(row: number, column: string | undefined, problem: string) {
    super(`Row ${row}${column === undefined ? "" : `, column \`${column}\``}: ${problem}`);
    this.row = row;
    this.column = column;
    this.problem = problem;
  }

  /** The same error for a row that comes `offset` rows later in the whole call. */
  shifted(offset: number): InputError {
    return offset === 0 ? this : new InputError(this.row + offset, this.column, this.problem);
  }
}
