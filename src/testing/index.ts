// hookline/testing: what a user needs to test a hook in five lines.
import "../core/ambient.ts";
export { type TinyOptions, testEngine, tinyData, tinyTrainer } from "./tiny.ts";
export { type VerbCall, replay, savedState, testContext } from "./context.ts";
export { recordTrace, type TraceEntry, type TraceHook, type TraceOptions } from "./trace.ts";
