// The file that was probably meant: the ending says little, since all configs and all modules share theirs.
import { nearest } from "../../core/names.ts";

const stem = (name: string): string => name.replace(/\.[^.]*$/, "");

/** ` Did you mean \`x\`?` or an empty string, to append to a message. */
export function didYouMeanFile(name: string, files: readonly string[]): string {
  const wanted = stem(name);
  const close = files.find((file) => stem(file) === wanted) ?? nearest(wanted, files.map(stem));
  const file = close && files.find((each) => each === close || stem(each) === close);
  return file === undefined ? "" : ` Did you mean \`${file}\`?`;
}
