// The surface of the command line: commands, flags and their help are promises, so they are pinned.
import { expect, test } from "vitest";
import { builtinHooks } from "../../src/cli/hooks.ts";
import { COMMAND_NAMES, makeProgram } from "../../src/cli/program.ts";
import { CONFIG_KINDS } from "../../src/experiment/build/kinds.ts";

const program = await makeProgram(COMMAND_NAMES, () => undefined);

function helpOf(command: typeof program): string {
  let text = "";
  command
    .configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 100, getOutHasColors: () => false })
    .outputHelp();
  return text;
}

test.each([["hookline", program] as const, ...program.commands.map((one) => [one.name(), one] as const)])(
  "help of %s",
  (_, command) => {
    expect(helpOf(command)).toMatchSnapshot();
  },
);

test("every command has examples, and help says what exit codes mean", () => {
  for (const command of program.commands) expect(helpOf(command)).toContain(`  $ hookline ${command.name()}`);
  expect(helpOf(program)).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 .*\n {2}130, 143, 138 /);
});

test("`hookline hooks` lists every hook that a config can name, and says what each is for", async () => {
  const listed = builtinHooks();
  expect(listed.map(({ use }) => use).sort()).toEqual(Object.keys(await CONFIG_KINDS.hook.load()).sort());
  for (const { use, what } of listed) expect(what, use).toMatch(/^[A-Z].{15,}\.$/);
  expect(listed.find(({ use }) => use === "gradientNoise")!.what).toContain("noise scale");
});
