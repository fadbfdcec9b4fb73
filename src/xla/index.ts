// hookline/xla: the xla engine with options of its own. By name, `engine: "xla"` has them by default. Node only.
import "../core/ambient.ts";
export { XlaEngine, type XlaOptions } from "../engines/xla/xla-engine.ts";
