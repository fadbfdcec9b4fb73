// A hundred kills of a study's controller; the tests do ten.
import { expect, test } from "vitest";
import { killControllers } from "../tune/controller-kills.ts";

test("a hundred random kills: every trial finishes once, with the suggestions of the study without them", async () => {
  expect((await killControllers(100)).kills).toBe(100);
});
