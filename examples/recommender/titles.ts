// Names for films. The npm package has none for MovieLens' ids (the ids in its movies_metadata.csv are those of TMDB,
// and the table that joins the two is not in it), so a film is its page on movielens.org unless you have a movies.csv.
import { readFileSync } from "node:fs";

/** @param file a `movies.csv` of MovieLens: `movieId,title,genres`, the title in quotes where it has a comma */
export function titles(file?: string): (movieId: number) => string {
  const known = new Map<number, string>();
  const lines = file === undefined ? [] : readFileSync(file, "utf8").split("\n");
  for (const line of lines) {
    const [, id, quoted, plain] = /^(\d+),(?:"((?:[^"]|"")*)"|([^,]*)),/.exec(line) ?? [];
    if (id !== undefined) known.set(Number(id), quoted?.replaceAll('""', '"') ?? plain!);
  }
  return (movieId) => known.get(movieId) ?? `https://movielens.org/movies/${movieId}`;
}
