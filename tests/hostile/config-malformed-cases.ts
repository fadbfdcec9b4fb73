// Configs that cannot be read, by format: each mistake at several places, with a ▸ where the error must point to.

export interface Malformed {
  readonly file: string;
  readonly text: string;
  readonly says: string;
}

type Mistakes = readonly (readonly [text: string, says: string])[];

/** Each mistake in each place: `§` is where it goes. */
const over = (file: string, places: readonly string[], mistakes: Mistakes): Malformed[] =>
  places.flatMap((place) => mistakes.map(([text, says]) => ({ file, text: place.replace("§", () => text), says })));

const one = (file: string, mistakes: Mistakes): Malformed[] => over(file, ["§"], mistakes);

const yaml = [
  ...over(
    "c.yaml",
    ["name: x\noptimizer: §\n", "a:\n  b:\n    c: §\n", "list:\n  - 1\n  - §\n"],
    [
      ["▸@x", "cannot start with reserved character @"],
      ["▸`x`", "cannot start with reserved character `"],
      ["▸*nope", "no anchor `&nope`"],
      ["▸!tag x", "Unresolved tag: !tag"],
      ["▸!!binary aGk=", "Unresolved tag"],
      ["▸!!js/function 'x'", "Unresolved tag"],
      ["▸!<tag:x,1> {}", "Unresolved tag"],
      ["▸12345678901234567890", "more digits than a number keeps"],
      ['"a▸\\q"', "Invalid escape sequence \\q"],
      ["&a [▸*a]", "part of itself"],
      ["{ lr: 1, ▸lr: 2 }", "`lr` is written twice; the first is in line"],
      ["{ ▸<<: { a: 1 } }", "Merge keys"],
      ["{ ▸[1]: 2 }", "Expected a key"],
      ["[1, 2]▸]", "not valid YAML"],
      ["{ a: 1}▸}", "not valid YAML"],
    ],
  ),
  ...one("c.yaml", [
    ["a: 1\n▸a: 2\n", "`a` is written twice; the first is in line 1"],
    ['a: 1\n▸"a": 2\n', "written twice"],
    ['1: a\n▸"1": b\n', "written twice"],
    ["a:\n  b: 1\n  c: 2\n  ▸b: 3\n", "written twice"],
    ["a: ▸1\n b: 2\n", "Nested mappings"],
    ["a:\n▸\tb: 1\n", "Tabs are not allowed"],
    ["a: [1, 2\n▸b: 3\n", "not valid YAML"],
    ["a: {x: 1\n▸b: 3\n", "not valid YAML"],
    ['a: "x\nb: 3\n▸', "not valid YAML"],
    ["a: 'x▸", "Missing closing 'quote"],
    ["▸a\nb: 1\n", "not valid YAML"],
    ["a: ▸b: c\n", "Nested mappings"],
    ["a: 1\n▸---\nb: 2\n", "one document"],
    ["▸", "the file is empty"],
    ["▸# only a comment\n", "the file is empty"],
    ["▸- 1\n- 2\n", "Expected a map of options"],
    ["▸text\n", 'got `"text"`'],
    ["▸42\n", "got `42`"],
    ["a: 1\n? ▸[x]\n: 2\n", "Expected a key"],
    ["▸: 2\n", "Expected a key"],
    ["a: &x 1\nb: &y ▸*x z\n", "not valid YAML"],
    [`a: ${"[".repeat(100)}▸[${"]".repeat(101)}\n`, "more than 100 deep"],
  ]),
];

const json = [
  ...over(
    "c.json",
    ['{\n  "name": "x",\n  "optimizer": §\n}', '{ "a": { "b": {\n"c": § } } }', '{ "list": [1,\n  §] }'],
    [
      ["▸adamw", "Expected a value, found `adamw`"],
      ["▸'adamw'", "Expected a value, found `'`"],
      ["▸.5", "Expected a value"],
      ["▸+1", "Expected a value"],
      ["▸012", "Expected a value, found `012`"],
      ["▸1.", "Expected a value"],
      ["▸1.5.2", "Expected a value"],
      ["▸1e", "Expected a value"],
      ["▸0x10", "Expected a value"],
      ["▸NaN", "Expected a value"],
      ["▸-Infinity", "Expected a value"],
      ["▸True", "Expected a value, found `True`"],
      ["▸undefined", "Expected a value"],
      ["▸// why\n 1", "JSON has no comments"],
      ["1 ▸/* why */", "JSON has no comments"],
      ['"a▸\\q"', "JSON has no such escape"],
      ['"a▸\\u12"', "JSON has no such escape"],
      ['"a▸\tb"', "A tab in a string"],
      ['▸"abc\n', "no closing quote"],
      ["[1, 2, ▸]", "Expected a value, found `]`"],
      ["[1 ▸2]", "Expected `,` or `]`, found `2`"],
      ['{ "a": 1, ▸}', "Expected a key in double quotes, found `}`"],
      ["{ ▸a: 1 }", "Expected a key in double quotes, found `a`"],
      ['{ "a" ▸1 }', "Expected `:` after the key"],
      ['{ "a": 1 ▸"b": 2 }', 'Expected `,` or `}`, found `"`'],
      ['{ "a": ▸, "b": 2 }', "Expected a value, found `,`"],
      ['{ "a": 1, ▸"a": 2 }', "`a` is written twice"],
      ['{ "a": 1, ▸"\\u0061": 2 }', "`a` is written twice"],
      ["▸12345678901234567890", "more digits than a number keeps"],
    ],
  ),
  ...one("c.json", [
    ["▸", "Expected a value, found the end of the file"],
    ['{ "a": 1 }\n▸{ "b": 2 }', "Expected the end of the file"],
    ['{ "a": 1 ▸', "Expected `,` or `}`, found the end of the file"],
    ['{ "a": [1, ▸', "Expected a value, found the end of the file"],
    ["▸[1, 2]", "Expected a map of options"],
    ["▸5", "Expected a map of options"],
    ["▸null", "the file is empty"],
    [`{ "a": ${"[".repeat(100)}▸[]${"]".repeat(100)} }`, "more than 100 deep"],
  ]),
];

const toml = [
  ...over(
    "c.toml",
    ['name = "x"\noptimizer = §\n', "[a.b]\nc = §\n", "a = 1\n[[list]]\nx = §\n"],
    [
      ["▸adamw", "not valid TOML"],
      ["▸012", "not valid TOML"],
      ["▸1.", "not valid TOML"],
      ["▸True", "not valid TOML"],
      ["▸12345678901234567890", "not valid TOML"],
      ["▸1979-13-41", "not valid TOML"],
      ["[1, 2\n▸z = 3", "expected comma or end"],
      ["{ a = 1\n▸z = 3", "expected comma or end"],
      ['"abc▸', "control characters"],
      ["'abc▸", "control characters"],
      ['"a\\▸q"', "escape"],
      ["[1 ▸2]", "not valid TOML"],
      ["{ a = 1, ▸a = 2 }", "not valid TOML"],
      ["1 ▸2", "not valid TOML"],
      ["▸", "not valid TOML"],
    ],
  ),
  ...one("c.toml", [
    ["a = 1\n▸a = 2\n", "redefine"],
    ['a = 1\n▸"a" = 2\n', "redefine"],
    ["[a]\nx = 1\n[▸a]\ny = 2\n", "redefine"],
    ["a = 1\n[▸a.b]\nc = 2\n", "redefine"],
    ["[[a]]\nx = 1\n[▸a]\ny = 2\n", "redefine"],
    ["a.b = 1\n▸a = 2\n", "redefine"],
    ["[a▸\nx = 1\n", "not valid TOML"],
    ["[▸]\nx = 1\n", "not valid TOML"],
    ["a▸\n", "not valid TOML"],
    ["a▸: 1\n", "not valid TOML"],
    ["a = 1 ▸b = 2\n", "end-of-line"],
    ["▸= 1\n", "not valid TOML"],
    ["a.▸.b = 1\n", "not valid TOML"],
  ]),
];

export const MALFORMED: readonly Malformed[] = [...yaml, ...json, ...toml];
