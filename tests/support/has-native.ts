// Whether the native engine can start here: a machine with a GPU may have no onnxruntime-node.
import { createRequire } from "node:module";

export const HAS_NATIVE = (() => {
  try {
    createRequire(import.meta.url).resolve("onnxruntime-node");
    return true;
  } catch {
    return false;
  }
})();
