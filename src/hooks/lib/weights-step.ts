// Which weights an evaluation on its own is of, where they are not those of the last step.
import { sharedKey } from "../../core/shared.ts";

/** The step of the checkpoint whose weights an experiment has put in place after its training: the best one's. */
export const weightsStep = sharedKey<number>("weightsStep");
