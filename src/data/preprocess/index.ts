// Preprocessing, for hookline/data.
export { auto } from "./auto.ts";
export type { TransformName, TransformSpec } from "./catalogue.ts";
export type { PreprocessorJson } from "./json.ts";
export type { PreprocessorOptions, TargetOptions } from "./options.ts";
export { fittedPreprocessor } from "./fitted-preprocessor.ts";
export { Preprocessor, type TransformOptions } from "./preprocessor.ts";
export type { Prediction, TargetInfo } from "./target.ts";
export type { Transform } from "./transform.ts";
export { type DatePart, type DatePartsOptions, dateParts } from "./transforms/date-parts.ts";
export { type OneHotOptions, type OrdinalOptions, label, oneHot, ordinal } from "./transforms/encoding.ts";
export { type HashingOptions, hashing } from "./transforms/hashing.ts";
export { type ImputeOptions, impute } from "./transforms/impute.ts";
export { type QuantileOptions, quantile } from "./transforms/quantile.ts";
export { type MinMaxOptions, drop, log, minMax, passThrough, standardise } from "./transforms/scaling.ts";
export { type HashedTextOptions, type VocabularyOptions, hashedText, vocabulary } from "./transforms/text.ts";
