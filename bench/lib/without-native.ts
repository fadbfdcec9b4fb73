// Preloaded into a process that is to run as if onnxruntime-node were not installed.
import Module from "node:module";

type Resolve = (request: string, ...rest: readonly unknown[]) => string;
const internals = Module as unknown as { _resolveFilename: Resolve };
const resolve = internals._resolveFilename;

internals._resolveFilename = function (this: unknown, request, ...rest) {
  if (request.startsWith("onnxruntime-node"))
    throw Object.assign(new Error(`Cannot find module '${request}'`), { code: "MODULE_NOT_FOUND" });
  return resolve.call(this, request, ...rest);
};
