// Does the trainer have a place for checkpoints? Without one a hook must not ask for any.
import type { ContextOf } from "../../core/context.types.ts";

export const keepsCheckpoints = ({ runDir, store }: ContextOf<"init">["config"]): boolean =>
  runDir !== undefined || store !== undefined;
