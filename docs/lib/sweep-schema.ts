// The JSON Schema of a sweep; what it shares with a config, it refers to.
import type { SchemaPart } from "../../src/core/options.ts";
import { SWEEP_CHECKS } from "../../src/tune/sweep/build-sweep.ts";
import { catalog, sweepKinds } from "./catalog.ts";
import { anyOf, described, kindSchemas, orNull, properties, ref } from "./config-schema.ts";
import { optionDocs } from "./doc-comments.ts";

const CONFIG = "hookline.schema.json";
/** Defined there. */
const SHARED = ["hook", "own", "ownWithOptions", "function", "environment"];
const NUMBERS = ["uniform", "logUniform", "int"];

const fromEnvironment: SchemaPart = anyOf({ type: "number" }, ref("environment"));

const parameter = (
  use: string,
  more: Readonly<Record<string, SchemaPart>>,
  required: readonly string[],
): SchemaPart => ({
  type: "object",
  properties: { use: { const: use }, ...more },
  required: ["use", ...required],
  additionalProperties: false,
});

/** A parameter, a constant, or an object of these. */
function spaceSchemas(): Record<string, SchemaPart> {
  const bounds = { low: fromEnvironment, high: fromEnvironment };
  const number = (use: string): SchemaPart => parameter(use, bounds, ["low", "high"]);
  const whole = { ...bounds, step: { type: "integer", minimum: 1 }, log: { type: "boolean" } };
  return {
    parameter: {
      description: "What is searched: uniform, logUniform, int or choice.",
      ...anyOf(
        number("uniform"),
        number("logUniform"),
        parameter("int", whole, ["low", "high"]),
        parameter("choice", { options: { type: "array", items: ref("spaceValue"), minItems: 1 } }, ["options"]),
      ),
    },
    spaceValue: anyOf(
      ref("parameter"),
      {
        type: "object",
        properties: { use: { type: "string", not: { enum: [...NUMBERS, "choice"] } } },
        additionalProperties: ref("spaceValue"),
      },
      { type: ["string", "number", "boolean", "null", "array"] },
    ),
  };
}

export async function sweepSchema(): Promise<SchemaPart> {
  const docs = optionDocs("src/tune/study-options.ts", "StudyOptions");
  const { space: _space, experiment: _experiment, ...checks } = SWEEP_CHECKS;
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    $id: "hookline-sweep.schema.json",
    title: "hookline sweep",
    description: "A study: what is searched, what its trials run, and how.",
    type: "object",
    // Nothing is required here: a sweep may extend another that has the rest.
    properties: {
      $schema: { type: "string", description: "For editors." },
      extends: {
        description: "Sweeps that this one is put over: a path or several, relative to this one.",
        ...anyOf({ type: "string" }, { type: "array", items: { type: "string" } }),
      },
      ...properties(checks, docs),
      space: {
        description: "What is searched. Of an experiment: by paths in its config, such as optimizer.lr.",
        type: "object",
        additionalProperties: ref("spaceValue"),
      },
      experiment: described(
        orNull(
          anyOf(
            { type: "string" },
            { $ref: CONFIG },
            { type: "object", properties: { use: { type: "string" } }, required: ["use"] },
          ),
        ),
        "What the trials run, in place of `trial`: the path of a config, { use: path } with changes, or a config itself.",
      ),
    },
    additionalProperties: false,
    $defs: {
      ...Object.fromEntries(SHARED.map((name) => [name, { $ref: `${CONFIG}#/$defs/${name}` }])),
      ...spaceSchemas(),
      ...kindSchemas(sweepKinds, await catalog()),
    },
  };
}
