// hookline/native: the native engine with options of its own. By name, `engine: "native"` has them by default. Node only.
import "../core/ambient.ts";
export { NativeEngine, type NativeOptions } from "../engines/native/native-engine.ts";
