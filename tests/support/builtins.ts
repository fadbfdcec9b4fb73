// The built-in components of any kind, those of sweeps included.
import type { Component } from "../../src/core/component.ts";
import type { Kind } from "../../src/core/options.ts";
import { KINDS } from "../../src/experiment/registry/kinds.ts";
import { loadBuiltins } from "../../src/tune/sweep/build-sweep.ts";

export const builtinsOf = (kind: Kind): Promise<Readonly<Record<string, Component>>> =>
  KINDS[kind].load?.() ?? loadBuiltins(kind as Parameters<typeof loadBuiltins>[0]);
