// Who may import whom: the rules that keep the core free of its users, and browsers free of Node.
import { builtinModules } from "node:module";
import { expect, test } from "vitest";
import { ENTRIES } from "../support/bundle.ts";
import { exportsOf, importsOf, sources, type Import } from "../support/sources.ts";

interface Edge extends Import {
  readonly file: string;
}

const edges = (folder: string): Edge[] =>
  sources(folder).flatMap((file) => importsOf(file).map((each) => ({ file, ...each })));

const show = ({ file, from }: Edge): string => `${file} imports ${from}`;

test("the import reader finds imports", () => {
  expect(importsOf("src/core/hook.ts")).toContainEqual({
    from: "src/core/events.ts",
    names: ["EventName", "MethodOf"],
    typeOnly: true,
  });
  expect(exportsOf("src/index.ts")).toEqual(expect.arrayContaining(["Trainer", "Hook", "defineEvent", "CustomEvents"]));
});

test("core imports nothing from outside but the types of jax-js", () => {
  const allowed = ({ from, typeOnly }: Edge): boolean =>
    from.startsWith("src/core/") || (from === "@jax-js/jax" && typeOnly);
  const outside = edges("src/core").filter((edge) => !allowed(edge));
  expect(outside.map(show)).toEqual([]);
});

test("Node's modules are imported in src/platform, by the command line and by the dashboard's server only", () => {
  const isNode = (from: string): boolean => from.startsWith("node:") || builtinModules.includes(from);
  const found = edges("src").filter(
    ({ file, from }) => isNode(from) && !/^src\/(?:platform|cli|ui\/server)\//.test(file),
  );
  expect(found.map(show)).toEqual([]);
});

/** What each folder may import from, besides itself and core. What stands on all of these is not here. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  platform: [],
  nn: [],
  optim: [],
  terminal: ["platform"],
  net: ["platform"],
  data: ["platform"],
  runs: ["platform"],
  checkpoint: ["platform", "runs"],
  loggers: ["platform", "runs", "terminal", "net"],
  distributed: ["platform", "data"],
  engines: ["platform", "distributed", "nn", "runs"],
  export: ["platform", "runs", "nn", "checkpoint", "engines"],
  trainer: ["platform", "runs", "nn", "optim", "data", "checkpoint", "distributed", "engines", "export"],
  ui: ["platform", "runs", "terminal", "checkpoint", "tune"],
  predict: ["platform", "net", "nn", "data", "checkpoint", "engines", "export"],
  lm: ["platform", "net", "runs", "nn", "optim", "data", "checkpoint", "engines", "trainer"],
};

test.each(Object.entries(LAYERS))("src/%s imports only what lies below it", (folder, below) => {
  const allowed = ["core", folder, ...below].map((name) => `src/${name}/`);
  const above = edges(`src/${folder}`)
    .filter(({ from }) => from.startsWith("src/") && !allowed.some((prefix) => from.startsWith(prefix)))
    .map(show);
  expect(above).toEqual([]);
});

test("nothing imports the command line", () => {
  const found = edges("src").filter(({ file, from }) => from.startsWith("src/cli/") && !file.startsWith("src/cli/"));
  expect(found.map(show)).toEqual([]);
});

test("only engines, models and programs compute with jax-js", () => {
  const allowed =
    /^src\/(core\/model\.ts|hooks\/|engines\/(?:jax\/|lower\/trace\.ts|(?:native|xla)\/compiler\.ts)|export\/interpret\.ts|jax\/|lm\/(?:generate|model|train)\/|nn\/|optim\/|trainer\/)/;
  const found = edges("src").filter(({ file, from }) => from === "@jax-js/jax" && !allowed.test(file));
  expect(found.map(show)).toEqual([]);
});

// What a user can write, a built-in can, and nothing else: then whatever a built-in does, a user's hook can do too.
test("built-in hooks use only the public surface", () => {
  const open = new Set(Object.values(ENTRIES).flatMap(exportsOf));
  // Describing themselves, knowing the events, checking options, choosing names, printing, drawing, sending, naming the process, the files of live control and Node's own modules are no power over the run.
  const helpers = [
    "src/core/component.ts",
    "src/core/events.ts",
    "src/core/options.ts",
    "src/core/maybe.ts",
    "src/core/loop/counters.ts",
    "src/core/safe-text.ts",
    "src/core/names.ts",
    "src/platform/builtin.ts",
    "src/platform/optional-package.ts",
    "src/platform/print.ts",
    "src/platform/redact.ts",
    "src/platform/thread.ts",
    "src/loggers/catalogue.ts",
    "src/runs/exact-json.ts",
    "src/runs/liveness.ts",
  ];
  const found = edges("src/hooks")
    .filter(({ from }) => !/^src\/(?:hooks|net|terminal|runs\/control)\//.test(from) && !helpers.includes(from))
    .flatMap(({ file, from, names }) => {
      // The logger loads a backend when it is used; all that these files export for others is the backend.
      if (names.length === 0 && /^src\/loggers\/(?:[a-z]+\/)?[a-z]+\.ts$/.test(from)) return [];
      const hidden = names.length > 0 ? names.filter((name) => !open.has(name)) : [`all of ${from}`];
      return hidden.map((name) => `${file} takes ${name} from ${from}`);
    });
  expect(found).toEqual([]);
});
