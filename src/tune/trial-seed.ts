// The seed of a trial: a function of the study's seed and the trial's number.
import { Rng } from "../data/random.ts";

/** Keeps these draws apart from those of samplers, which begin with the same two numbers. */
const TRIAL = 0x7121a1;

export const trialSeed = (seed: number, number: number): number => new Rng(seed, number, TRIAL).int(2 ** 31);
