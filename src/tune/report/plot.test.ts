import { expect, it } from "vitest";
import { at, html } from "./plot.ts";

/** By a name that formatters do not know: here each space counts. */
const tag = html;

it("escapes what is put in, and leaves what came from a template", () => {
  const hostile = `</td><script>alert("1")</script>&'`;
  const cell = tag`<td title="${hostile}">${hostile}</td>`;
  const escaped = "&lt;/td&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;";
  expect(cell.text).toBe(`<td title="${escaped}">${escaped}</td>`);
  expect(tag`<tr>${[cell, cell]}</tr>`.text).toBe(`<tr>${cell.text}${cell.text}</tr>`);
});

it("takes lines of the source for spaces, and those of a value as they are", () => {
  expect(
    tag`<p>
    ${"a\n  b"}
  </p>`.text,
  ).toBe("<p> a\n  b </p>");
});

it("writes numbers, lists and nothing for undefined", () => {
  expect(tag`${1.5}|${["<", ["a"]]}|${undefined}|`.text).toBe("1.5|&lt;a||");
});

it("rounds coordinates", () => {
  expect([at(1 / 3), at(20), at(99.96)]).toEqual(["0.3", "20", "100"]);
});
