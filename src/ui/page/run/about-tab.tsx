// What the run is: hyperparameters, versions, command line, commit, host; and its best values.
import { hello } from "../data/runs.ts";
import * as format from "../format.ts";
import { CopyLine } from "../parts/empty.tsx";
import type { TabProps } from "./run-page.tsx";

export function AboutTab({ page }: TabProps) {
  const { info, row, parts, records } = page;
  const facts: readonly (readonly [string, string])[] = [
    ["state", row.reason === null ? row.state : `${row.state}: ${row.reason}`],
    ["started", format.moment(info.startedAt)],
    ["training time", format.duration(row.elapsed)],
    ["records", format.integer(records)],
    ["parts", parts.length > 1 ? parts.map(({ step }) => `from step ${format.integer(step)}`).join(", ") : "1"],
    ...(info.compileSeconds === undefined ? [] : [["compiled in", format.duration(info.compileSeconds)] as const]),
  ];
  return (
    <div class="about">
      <Facts title="Run" facts={facts} />
      <Facts
        title="Best values"
        facts={Object.entries(row.best).map(([name, { value, step }]) => [
          name,
          `${format.number(value)} at step ${format.integer(step)}`,
        ])}
      />
      <Facts
        title="Hyperparameters"
        facts={Object.entries(info.hparams).map(([name, value]) => [name, format.value(value)])}
      />
      <Facts title="Environment" facts={flatten(info.about)} />
      <section>
        <h2>From the command line</h2>
        <p>
          <CopyLine text={`npx hookline inspect ${hello.value?.root ?? "runs"}/${row.name}`} />
        </p>
        <p>
          <CopyLine text={`npx hookline resume ${hello.value?.root ?? "runs"}/${row.name}`} />
        </p>
      </section>
    </div>
  );
}

/** `options.optimizer.name`: one line for each plain value. */
function flatten(thing: unknown, name = ""): (readonly [string, string])[] {
  if (typeof thing !== "object" || thing === null) return [[name, typeof thing === "string" ? thing : String(thing)]];
  if (Array.isArray(thing)) return thing.length === 0 ? [] : [[name, thing.map(format.value).join(", ")]];
  return Object.entries(thing).flatMap(([key, value]) => flatten(value, name === "" ? key : `${name}.${key}`));
}

function Facts({ title, facts }: { title: string; facts: readonly (readonly [string, string])[] }) {
  if (facts.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
