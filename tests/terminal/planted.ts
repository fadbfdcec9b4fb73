// Texts that would steer a terminal if they were printed as they are: titles, cleared screens, reversed lines.

/** For places that take any character but NUL. */
export const PLANTED = "p\u001B]0;owned\u0007\u001B[2J\u001B[31m\u009B3J\u202Eq\r\u0085z";

/** What may be in an output besides text: line ends, tabs, and where it is `live` the codes of src/terminal. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const OURS = /\u001B\[(?:K|J|\d+A|\?25[lh]|(?:0|1|2|22|3[1-6]|39)m)|\r/g;
// oxlint-disable-next-line no-control-regex -- as above
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029\u200B\u202A-\u202E\u2066-\u2069]/g;

/** The characters of an output that have no place in it. */
export function unsafeIn(output: string, live = false): string[] {
  const text = live ? output.replaceAll(OURS, "") : output;
  return [...new Set(text.match(CONTROLS))].map((each) => JSON.stringify(each));
}
