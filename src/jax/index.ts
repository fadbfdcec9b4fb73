// hookline/jax: the jax-js that hookline computes with, for models, losses and updates of your own. Arrays of another copy
// would mean nothing to the engine, and a package manager that is strict lets a project import only what it asks for.
import "../core/ambient.ts";
export * from "@jax-js/jax";
