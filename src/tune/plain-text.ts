// Plain data as text and back, with the numbers that JSON has no words for: trials diverge.

export const toText = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "number" && !Number.isFinite(inner) ? { $number: String(inner) } : inner,
  );

export const fromText = (text: string): unknown => JSON.parse(text, (_, value: unknown) => numberOf(value));

const numberOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "$number" in value ? Number(value.$number) : value;
