// The strategy seam: how many processes train together, and which one this is.

export interface Strategy {
  readonly name: string;
  /** This process, from 0; 0 is the main one. */
  readonly rank: number;
  readonly size: number;
}

/** One process alone. */
export const single: Strategy = { name: "single", rank: 0, size: 1 };
