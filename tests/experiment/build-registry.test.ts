// What a config can name is what the package exports: a new component cannot be forgotten.
import * as experiment from "hookline/experiment";
import * as loggers from "hookline/loggers";
import * as nn from "hookline/nn";
import * as optim from "hookline/optim";
import * as tune from "hookline/tune";
import * as main from "hookline";
import { describe, expect, test } from "vitest";
import type { Component } from "../../src/core/component.ts";
import { is, type Kind } from "../../src/core/options.ts";
import { rulesOf } from "../../src/experiment/build/kinds.ts";
import { SWEEP_KINDS as KINDS } from "../../src/tune/sweep/build-sweep.ts";

/** Exports that make nothing a config could use, and why. */
const NO_COMPONENTS = new Set<unknown>([
  // For whoever writes hooks.
  main.alwaysPasses,
  main.boundaryEvent,
  main.checkCadence,
  main.evalLoaderNames,
  main.defineEvent,
  main.directionOf,
  main.histogram,
  main.image,
  main.isHostArray,
  main.monitorValue,
  main.sharedKey,
  main.text,
  main.unknownMonitor,
  main.withUnit,
  // For pages that a bundler makes.
  main.providePackages,
  // For whoever writes models.
  nn.balancedWeights,
  nn.deferredLogits,
  nn.initKey,
  nn.keyStream,
  nn.logitsOf,
  nn.stepKey,
  nn.tap,
  // For whoever reads runs, or what a config itself becomes.
  tune.studyReport,
  // What a space is made of.
  tune.choice,
  tune.int,
  tune.logUniform,
  tune.uniform,
]);

const all: [kind: Kind, name: string, component: Component][] = [];
for (const kind of Object.keys(KINDS) as Kind[])
  for (const [name, component] of Object.entries(await KINDS[kind].load())) all.push([kind, name, component]);

const makers = new Set<unknown>(all.map(([, , { make }]) => make));

describe.each(Object.entries({ main, nn, optim, loggers, experiment, tune }))("%s", (_, module) => {
  const isFunction = (value: unknown): boolean => typeof value === "function" && !String(value).startsWith("class");
  const functions = Object.entries(module).filter(([, value]) => isFunction(value));
  test.each(functions)("%s can be named in a config, or makes no component", (name, value) => {
    const isReader = ["readConfig", "buildExperiment", "defineConfig"].includes(name);
    expect(makers.has(value) || NO_COMPONENTS.has(value) || isReader).toBe(true);
  });
});

test.each(all)("%s %s tells its options without being made", (_, __, component) => {
  const { checks, required } = rulesOf(KINDS, component);
  const { args = {}, supplied = [] } = component.takes?.() ?? {};
  for (const name of Object.keys(args).filter((each) => !supplied.includes(each))) expect(checks).toHaveProperty(name);
  for (const name of supplied) expect(checks).not.toHaveProperty(name);
  for (const name of required) expect(checks).toHaveProperty(name);
});

test("arguments and options of a config have the checks of the factory", () => {
  const [, , linear] = all.find(([kind, name]) => kind === "model" && name === "linear")!;
  expect(Object.entries(rulesOf(KINDS, linear).checks).map(([name, { expected }]) => [name, expected])).toEqual([
    ["in", "a whole number ≥ 1"],
    ["out", "a whole number ≥ 1"],
    ["bias", is.boolean.expected],
  ]);
});

test.each(all)("%s %s says in words what it must be given", (_, __, component) => {
  const { checks, required } = rulesOf(KINDS, component);
  for (const name of required) expect(checks[name]!.expected).not.toBe("anything");
});
