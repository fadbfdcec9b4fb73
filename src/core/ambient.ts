/// <reference lib="es2022" preserve="true" />
/// <reference lib="esnext.disposable" preserve="true" />
/// <reference lib="esnext.float16" preserve="true" />
// Names that our declarations, and jax-js's, take from the platform, for users whose TypeScript has no types of Node, of
// the DOM or of newer libraries. Where it has them, these add nothing to them.

/* oxlint-disable typescript/no-empty-interface, typescript/no-empty-object-type -- what they hold is the platform's */
declare global {
  interface AbortController {}
  interface AbortSignal {}
  interface Blob {}
  interface File {}
  interface Response {}
  interface URL {}
  interface Request {}
  interface Response {}
  interface FileSystemDirectoryHandle {}
  interface GPUBuffer {}
  interface GPUDevice {}
}

// oxlint-disable-next-line unicorn/require-module-specifiers -- only a module may declare what is global
export {};
