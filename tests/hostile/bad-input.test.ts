// Everything a user can get wrong gives an error of ours that says what, where and what to do.
// All messages are in messages.txt, to be read in one go: `vitest -u` writes it anew.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Case } from "./cases/case.ts";
import { data } from "./cases/data.ts";
import { hooks } from "./cases/hooks.ts";
import { options } from "./cases/options.ts";
import { programs } from "./cases/programs.ts";

const messages: string[] = [];
const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));

/** What it throws or rejects with, or what it does instead. */
async function outcomeOf(run: () => unknown): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const hangs = new Promise((resolve) => (timer = setTimeout(resolve, 5000, "it hangs")));
  const fails = Promise.resolve()
    .then(run)
    .then(
      () => "it throws nothing",
      (failure: unknown) => failure,
    );
  const outcome = await Promise.race([fails, hangs]);
  clearTimeout(timer);
  return outcome;
}

/** What is wrong with the error that a case gives. */
async function problems(name: string, { run, error, cause, says }: Case): Promise<string[]> {
  const failure = await outcomeOf(run);
  if (!(failure instanceof error)) return [`expected ${error.name}, got ${String(failure)}`];
  const missing = says.filter((part) => !failure.message.includes(part));
  const found = missing.map((part) => `does not say "${part}": ${failure.message}`);
  if (cause && !(failure.cause instanceof cause)) found.push(`expected the cause to be ${cause.name}`);
  if (found.length === 0) messages.push(`${name}\n  ${failure.name}: ${failure.message}\n`);
  return found;
}

const all = { options, data, programs, hooks };

describe.each(Object.keys(all) as (keyof typeof all)[])("%s", (part) => {
  const names = Object.keys(all[part]);
  it.each(names)("%s", async (name) => {
    expect(await problems(name, all[part][name]!)).toEqual([]);
  });
});

it("leaves no rejection unhandled", async () => {
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(unhandled).toEqual([]);
});

it("has the messages that were read and found good", async () => {
  await expect(messages.join("\n")).toMatchFileSnapshot("./messages.txt");
});
