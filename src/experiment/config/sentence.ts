// Parsers end their messages in different ways.

/** What a parser says, as one of our sentences. */
export const sentence = (message: string): string => `${message.replace(/[.!?\s]+$/, "")}.`;
