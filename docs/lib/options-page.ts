// docs/trainer-options.md: every option of a trainer and of fit().
import { FIT_CHECKS, REQUIRED_OPTIONS, TRAINER_CHECKS } from "../../src/trainer/options.ts";
import { optionDocs } from "./doc-comments.ts";

function table(names: readonly string[], type: string, required: readonly string[] = []): string {
  const docs = optionDocs("src/trainer/options.ts", type);
  const rows = names.map((name) => {
    if (!docs[name]) throw new Error(`${type}.${name} has no comment to show in docs/trainer-options.md.`);
    return `| \`${name}\`${required.includes(name) ? " (required)" : ""} | ${docs[name].replaceAll("|", "\\|")} |`;
  });
  return ["| option | what it is |", "| --- | --- |", ...rows].join("\n");
}

export function optionsPage(): string {
  return `# Options of a trainer

What \`new Trainer({ … })\` takes, and \`fit({ … })\` besides. An [experiment](experiments.md) and a [config](config.md) take them too, under the same names, but for \`train\` and \`eval\`, which they make of the data. This page is made from the comments in the code by \`npm run docs\`.

${table(Object.keys(TRAINER_CHECKS), "TrainerOptions", REQUIRED_OPTIONS)}

## fit

Limits given here hold for this call; those that are not stay as in the trainer's options. They count from the beginning of the run: after 20 epochs \`fit({ epochs: 22 })\` trains two more.

${table(Object.keys(FIT_CHECKS), "FitOptions")}
`;
}
