// hookline/testing: what a user needs to test a hook in five lines.
import "../core/ambient.ts";
export { testEngine } from "./engine.ts";
export { savedState } from "./state.ts";
export { replay, testContext, type VerbCall } from "./context.ts";
export { tinyData, tinyTrainer, type TinyOptions } from "./tiny.ts";
export { recordTrace, type TraceEntry, type TraceHook, type TraceOptions } from "./trace.ts";
