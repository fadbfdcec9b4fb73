// How the readers of this folder refuse a file: one error class, the file's name always in it, one default way out.
import { CheckpointError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";

/** Makes the error for one file, to be thrown: the reason (no full stop) and, where it is not the default, the way out. */
export type BadFile = (reason: string, wayOut?: string, options?: ErrorOptions) => CheckpointError;

const DAMAGED = "The file is damaged or was not made by a sound writer: use another copy or an earlier checkpoint.";

export const badFile =
  (file: string): BadFile =>
  (reason, wayOut = DAMAGED, options) =>
    new CheckpointError(file, reason, wayOut, options);

/** A name out of a file, fit for a message: quoted, short, without control characters. */
export function quote(name: string): string {
  const short = name.length > 80 ? `${name.slice(0, 77)}…` : name;
  return JSON.stringify(short);
}

/** The nearest of a file's names, out of those near in length: a file may have any number of names of any length. */
export function suggestName(name: string, known: Iterable<string>): string {
  const near: string[] = [];
  for (const each of known) {
    if (Math.abs(each.length - name.length) <= 3 && near.length < 1000) near.push(each);
  }
  return didYouMean(name, near);
}
