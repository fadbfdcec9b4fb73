// Keys that would reach into JavaScript's objects, in every spelling that a format has. A ▸ is where the error must point to.

export interface Pollution {
  readonly file: string;
  /** With a mark, unless there is no line to point to. */
  readonly text: string;
  readonly set?: readonly string[];
  /** The file or flag that the error must name, when it is not `file`. */
  readonly names?: string;
}

const NAMES = ["__proto__", "constructor", "prototype"];

/** Every letter of a name as an escape. */
const escaped = (name: string, mark: string, digits: number): string =>
  name.replaceAll(/./g, (c) => `\\${mark}${c.charCodeAt(0).toString(16).padStart(digits, "0")}`);
const short = (name: string): string => escaped(name, "x", 2);
const unicode = (name: string): string => escaped(name, "u", 4);
const long = (name: string): string => escaped(name, "U", 8);
/** Only its first letter. */
const first = (name: string): string => unicode(name[0]!) + name.slice(1);

const yaml = (name: string): string[] => {
  const spellings = [
    name,
    `'${name}'`,
    `"${name}"`,
    `"${short(name)}"`,
    `"${unicode(name)}"`,
    `"${long(name)}"`,
    `!!str ${name}`,
    `&k ${name}`,
  ];
  // A tag or an anchor stands before the key, which is where the error points.
  const keyed = (key: string): string => key.replace(/^((?:!!str|&k) )?/, "$1▸");
  return [
    ...spellings.flatMap((key) => [
      `${keyed(key)}: { polluted: 1 }`,
      `a:\n  b:\n    ${keyed(key)}:\n      polluted: 1`,
      `a:\n  - { ${keyed(key)}: { polluted: 1 } }`,
      `? ${keyed(key)}\n: { polluted: 1 }`,
    ]),
    `a: &x { ▸${name}: { polluted: 1 } }\nb: *x`,
    `a: { ▸<<: { ${name}: { polluted: 1 } } }`,
    `a: &x ${name}\n▸*x : { polluted: 1 }`,
    `a:\n  ▸${name}:`,
    `? >-\n  ▸${name}\n: { polluted: 1 }`.replace("? >-\n  ▸", "? ▸>-\n  "),
  ];
};

const json = (name: string): string[] => {
  const spellings = [
    `"${name}"`,
    `"${first(name)}"`,
    `"${unicode(name)}"`,
    `"${unicode(name).toUpperCase().replaceAll("U", "u")}"`,
  ];
  return spellings.flatMap((key) => [
    `{ ▸${key}: { "polluted": 1 } }`,
    `{\n  "a": { "b": {\n    ▸${key}: { "polluted": 1 } } } }`,
    `{ "a": [ { ▸${key}: 1 } ] }`,
  ]);
};

const toml = (name: string): string[] => {
  const spellings = [name, `'${name}'`, `"${name}"`, `"${unicode(name)}"`, `"${long(name)}"`];
  return spellings.flatMap((key) => [
    `▸${key} = { polluted = 1 }`,
    `▸${key}.polluted = 1`,
    `a.▸${key}.polluted = 1`,
    `[▸${key}]\npolluted = 1`,
    `x = 1\n[a.b.▸${key}]\npolluted = 1`,
    `[[▸${key}]]\npolluted = 1`,
    `[[a]]\nx = 1\n[[a.▸${key}]]\npolluted = 1`,
    `a = { b = { ▸${key} = { polluted = 1 } } }`,
    `a = [1, { x.▸${key} = 1 }]`,
  ]);
};

const module = (name: string): string[] => [
  `export default { ["${name}"]: { polluted: 1 } };`,
  `export default { a: [JSON.parse('{ "${name}": { "polluted": 1 } }')] };`,
  `export default () => Object.defineProperty({}, "${name}", { value: { polluted: 1 }, enumerable: true });`,
];

const settings = (name: string): string[] => [
  `${name}=1`,
  `${name}.polluted=1`,
  `a.${name}.polluted=1`,
  `a.b.${name}=1`,
  `\\${name}.polluted=1`,
  `list.0.${name}.polluted=1`,
  `list.x.${name}.polluted=1`,
  `a={ ${name}: { polluted: 1 } }`,
  `a=[{ "${unicode(name)}": 1 }]`,
];

const variables = (name: string): string[] => [
  `a: ▸\${${name}}`,
  `a: [x, ▸"y \${${name}:-z}"]`,
  `extends: ▸\${${name}:-base.yaml}`,
];

export const POLLUTION: readonly Pollution[] = NAMES.flatMap((name): Pollution[] => [
  ...yaml(name).map((text) => ({ file: "c.yaml", text })),
  ...json(name).map((text) => ({ file: "c.json", text })),
  ...toml(name).map((text) => ({ file: "c.toml", text })),
  ...["c.mjs", "c.ts"].flatMap((file) => module(name).map((text) => ({ file, text }))),
  ...variables(name).map((text) => ({ file: "c.yaml", text })),
  ...settings(name).map((set) => ({
    file: "c.yaml",
    text: "a: { b: {} }\nlist: [x]",
    set: [set],
    names: `--set ${set}`,
  })),
]);
