/** The version of hookline. A constant, since browsers cannot read package.json; a test compares the two. */
export const VERSION = "0.1.0";
