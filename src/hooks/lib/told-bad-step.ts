// The step that is not finite and that a hook has told of already: others need not say it again.
import { sharedKey } from "../../core/shared.ts";

export const toldBadStep = sharedKey<number>("toldBadStep");
