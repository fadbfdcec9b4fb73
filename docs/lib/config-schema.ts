// The JSON Schema of a config, made of the tables that the checks themselves use.
import type { Check, Holds, Json, Kind, SchemaPart } from "../../src/core/options.ts";
import { CONFIG_CHECKS, FUNCTIONS, PLAN_CHECKS } from "../../src/experiment/build/build-experiment.ts";
import { PREPROCESSOR_CHECKS, TARGET_CHECKS } from "../../src/data/preprocess/options.ts";
import { LOADER_CHECKS } from "../../src/experiment/experiment-options.ts";
import { SWEEP_KINDS as KINDS } from "../../src/tune/sweep/build-sweep.ts";
import { catalog, kinds, sweepKinds, type CatalogEntry } from "./catalog.ts";
import { optionDocs } from "./doc-comments.ts";

/** A text with a variable of the environment in it. */
const ENVIRONMENT = "\\$\\{\\w";

export const ref = (name: string): SchemaPart => ({ $ref: `#/$defs/${name}` });
export const anyOf = (...parts: readonly SchemaPart[]): SchemaPart => ({ anyOf: parts });
const named = (each: SchemaPart): SchemaPart => ({ type: "object", additionalProperties: each });

/** Editors show a description, but not one beside a reference. */
export const described = (schema: SchemaPart, description: string): SchemaPart => {
  if (description === "") return schema;
  return Object.hasOwn(schema, "$ref") ? { description, allOf: [schema] } : { description, ...schema };
};

/** The same, where every number, switch and choice may come from the environment. */
function fromEnvironment(schema: Json): Json {
  if (typeof schema !== "object" || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(fromEnvironment);
  const part = schema as SchemaPart;
  if (Object.hasOwn(part, "enum")) return anyOf(part, ref("environment"));
  // The pattern is for texts alone, and what there is besides for numbers alone.
  const { type } = part;
  if (type === "number" || type === "integer" || type === "boolean")
    return { ...part, type: [type, "string"], pattern: ENVIRONMENT };
  const inner = Object.entries(part).map(([key, value]) => [
    key,
    ["items", "additionalProperties", "anyOf"].includes(key) ? fromEnvironment(value) : value,
  ]);
  return Object.fromEntries(inner) as SchemaPart;
}

const notOne: SchemaPart = { not: { required: ["use"] } };

function heldSchema(holds: Holds): SchemaPart {
  if (holds.form === "each") {
    const properties = Object.fromEntries(
      Object.entries(holds.options).map(([key, inner]) => [key, heldSchema(inner)]),
    );
    return { type: "array", items: { type: "object", properties } };
  }
  const one = ref(holds.kind);
  const list: SchemaPart = { type: "array", items: one };
  const map: SchemaPart = { ...named(one), ...notOne };
  const forms = {
    one: [one],
    oneOrList: [one, list],
    listOrNamed: [list, map],
    named: [map],
    oneOrNamed: [one, map],
    oneOrNamedLists: [one, { ...named(anyOf(one, list)), ...notOne }],
  } as const;
  const schemas = forms[holds.form];
  return schemas.length === 1 ? schemas[0] : anyOf(...schemas);
}

/** `null` takes back what an extended config says. */
export function orNull(schema: SchemaPart): SchemaPart {
  const { type, anyOf: parts } = schema;
  const none = { type: "null" };
  if (Object.keys(schema).length === 0) return schema;
  if (Array.isArray(parts)) return { ...schema, anyOf: [...(parts as readonly Json[]), none] };
  if (type === undefined) return anyOf(schema, none);
  return { ...schema, type: [...[type as string | readonly string[]].flat(), "null"] };
}

type Checks = Readonly<Record<string, Check>>;
type Docs = Readonly<Record<string, string>>;

const optionSchema = ({ holds, schema = {} }: Check): SchemaPart =>
  holds ? heldSchema(holds) : (fromEnvironment(schema) as SchemaPart);

export const properties = (checks: Checks, docs: Docs): Record<string, SchemaPart> =>
  Object.fromEntries(
    Object.entries(checks).map(([key, check]) => [key, described(orNull(optionSchema(check)), docs[key] ?? "")]),
  );

function componentSchema({ name, purpose, summary, options }: CatalogEntry): SchemaPart {
  const own = options.map(({ name: key, check, doc, required }) => {
    const schema = optionSchema(check);
    return [key, described(required ? schema : orNull(schema), doc)];
  });
  return described(
    {
      // `hookline hooks` shows it too.
      ...(purpose !== "" && { title: purpose }),
      type: "object",
      properties: { use: { const: name }, ...(Object.fromEntries(own) as Record<string, SchemaPart>) },
      required: ["use", ...options.filter(({ required }) => required).map(({ name: key }) => key)],
      additionalProperties: false,
    },
    summary,
  );
}

/** By its name alone where it needs no options, with options, or the user's own. */
function kindSchema(kind: Kind, entries: readonly CatalogEntry[]): SchemaPart {
  const bare = entries.filter(({ options }) => !options.some(({ required }) => required)).map(({ name }) => name);
  const { what, looks } = KINDS[kind];
  return {
    description: `${what.replace(/^an? (.)/, (_, first: string) => first.toUpperCase())}: by name, or your own: ${looks}.`,
    ...anyOf(
      ...(bare.length > 0 ? [{ enum: bare }] : []),
      ...entries.map(({ name }) => ref(`${kind}.${name}`)),
      ref("own"),
      ref("ownWithOptions"),
      ref("environment"),
    ),
  };
}

const FUNCTION_SCHEMA = anyOf(ref("own"), ref("ownWithOptions"));

/** The kinds with all their components, by the names that references have. */
export function kindSchemas(some: readonly Kind[], all: readonly CatalogEntry[]): Record<string, SchemaPart> {
  const entries = all.filter(({ kind }) => some.includes(kind));
  return Object.fromEntries([
    ...some.map((kind) => [
      kind,
      kindSchema(
        kind,
        entries.filter((entry) => entry.kind === kind),
      ),
    ]),
    ...entries.map((entry) => [`${entry.kind}.${entry.name}`, componentSchema(entry)]),
  ]) as Record<string, SchemaPart>;
}

export async function configSchema(): Promise<SchemaPart> {
  const all = await catalog();
  const own = kinds.filter((kind) => !sweepKinds.includes(kind));
  const docs = optionDocs("src/experiment/types.ts", "ExperimentOptions");
  const functions = Object.fromEntries(
    FUNCTIONS.map((key) => [key, described(orNull(FUNCTION_SCHEMA), docs[key] ?? "")]),
  ) as Record<string, SchemaPart>;
  const loader: SchemaPart = {
    type: "object",
    properties: properties(LOADER_CHECKS, optionDocs("src/experiment/types.ts", "LoaderOptions")),
    additionalProperties: false,
  };
  const transforms = "src/data/preprocess/options.ts";
  const ofTarget: SchemaPart = {
    type: "object",
    properties: properties(TARGET_CHECKS, optionDocs(transforms, "TargetOptions")),
    additionalProperties: false,
  };
  const ofColumns = optionDocs(transforms, "PreprocessorOptions");
  const preprocess: SchemaPart = {
    type: "object",
    properties: {
      ...properties(PREPROCESSOR_CHECKS, ofColumns),
      target: described(orNull(anyOf({ type: "string" }, ofTarget)), ofColumns.target ?? ""),
    },
    additionalProperties: false,
  };
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "hookline config",
    description: "A whole experiment: data, models, how they are trained, and the hooks that watch it.",
    type: "object",
    // Nothing is required here: a config may extend another that has the rest.
    properties: {
      $schema: { type: "string", description: "For editors." },
      extends: {
        description: "Configs that this one is put over: a path or several, relative to this one.",
        ...anyOf({ type: "string" }, { type: "array", items: { type: "string" } }),
      },
      ...properties(CONFIG_CHECKS, docs),
      ...functions,
      preprocess: described(orNull(preprocess), docs.preprocess ?? ""),
      loader: described(orNull(loader), docs.loader ?? ""),
      models: described(orNull(named(anyOf(ref("plan"), { type: "null" }))), docs.models ?? ""),
    },
    additionalProperties: false,
    $defs: {
      plan: {
        type: "object",
        properties: { ...properties(PLAN_CHECKS, docs), ...functions },
        additionalProperties: false,
      },
      own: { type: "string", pattern: "^\\.{1,2}/|#", description: "Your own: ./file.ts#Export or package#Export." },
      ownWithOptions: {
        type: "object",
        description: "Your own with options: a class is constructed with them, a function called with them.",
        properties: { use: ref("own") },
        required: ["use"],
      },
      function: { type: "string", pattern: "#", description: "A function: ./file.ts#export." },
      environment: {
        type: "string",
        pattern: ENVIRONMENT,
        description: "From the environment: ${NAME} or ${NAME:-default}.",
      },
      ...kindSchemas(own, all),
    },
  };
}
