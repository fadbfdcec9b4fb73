// How the preprocessor of a training reaches hooks and model.json. Apart from its code, which these do not need.
import { sharedKey } from "../../core/shared.ts";
import type { Preprocessor } from "./preprocessor.ts";

/** The fitted preprocessor of a training, which an experiment shares with hooks. */
export const fittedPreprocessor = /* @__PURE__ */ sharedKey<Preprocessor>("preprocessor");
