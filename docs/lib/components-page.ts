// docs/components.md: every component that a config can name, and its options.
import { SWEEP_KINDS as KINDS } from "../../src/tune/sweep/build-sweep.ts";
import { catalog, kinds, type CatalogEntry, type CatalogOption } from "./catalog.ts";

const TITLES: Readonly<Record<(typeof kinds)[number], string>> = {
  data: "Data",
  split: "Splits",
  transform: "Transforms of columns",
  model: "Models and layers",
  loss: "Losses",
  metric: "Metrics",
  optimizer: "Optimizers",
  schedule: "Schedules",
  hook: "Hooks",
  logger: "Backends of the logger",
  sampler: "Samplers, of sweeps",
  scheduler: "Schedulers, of sweeps",
  runner: "Runners, of sweeps",
};

const cell = (text: string): string => text.replaceAll("|", "\\|");

const row = ({ name, check, required, doc }: CatalogOption): string =>
  `| \`${name}\`${required ? " (required)" : ""} | ${cell(check.expected)} | ${cell(doc)} |`;

function section({ name, purpose, summary, options }: CatalogEntry): string {
  const table = ["| option | expected | what it is |", "| --- | --- | --- |", ...options.map(row)].join("\n");
  const text = [purpose, summary].filter(Boolean).join(" ");
  return [`### ${name}`, text, options.length > 0 ? table : "No options."].filter(Boolean).join("\n\n");
}

export async function componentsPage(): Promise<string> {
  const all = await catalog();
  const sections = kinds.map((kind) => {
    const entries = all.filter((entry) => entry.kind === kind);
    return [`## ${TITLES[kind]}`, `Your own is ${KINDS[kind].looks}.`, ...entries.map(section)].join("\n\n");
  });
  return `# Components

What a config, or a [sweep](tune.md#from-a-file), can name with \`use\`, by kind, and the options of each. Where one needs no options its name alone is enough: \`loss: crossEntropy\`. Your own are \`./file.ts#Export\` or \`package#Export\`; so are functions, where an option expects one. This page is made from the checks and comments of the code by \`npm run docs\`.

${sections.join("\n\n")}
`;
}
