/** Fills up rows of items where users have fewer than others. */
export const NO_ITEM = -1;
