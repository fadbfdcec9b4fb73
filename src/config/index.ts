// hookline/config: experiments from config files, for programs in Node.
import "../core/ambient.ts";
export { buildExperiment, type BuildExperimentOptions } from "../experiment/build/build-experiment.ts";
export { ConfigError, type ConfigPath, type Position } from "../experiment/config/config-error.ts";
export type { ConfigDocument, ConfigValue } from "../experiment/config/config-tree.ts";
export { readConfig, type ReadConfigOptions } from "../experiment/config/read-config.ts";
