// Colours, where they are wanted; without them a text stays as it is.

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

export type Paint = Readonly<Record<keyof typeof CODES, (text: string) => string>>;

export function paint(color: boolean): Paint {
  const painters = Object.entries(CODES).map(([name, [on, off]]) => {
    const apply = (text: string): string => (color && text !== "" ? `\u001B[${on}m${text}\u001B[${off}m` : text);
    return [name, apply] as const;
  });
  return Object.fromEntries(painters) as Paint;
}

/** What a line may be made of. */
export interface Style {
  readonly color: boolean;
  readonly unicode: boolean;
}
