// Hides what looks like a secret in text that leaves the machine: an error message may quote a URL or a header.

export const SECRET_NAME = /key|token|secret|passw|credential|auth/i;

/** Each pattern is linear: what repeats in it cannot also match what follows. */
const PATTERNS: readonly (readonly [pattern: RegExp, shown: string])[] = [
  // https://user:password@host
  [/:\/\/[^\s/@]+@/g, "://…@"],
  // api_key=…, "token": "…", Authorization: Bearer …
  [
    /((?:api[-_]?key|access[-_]?key|token|secret|passw(?:or)?d|authorization|credentials?)["']?\s*[:=]\s*["']?)(?:(?:bearer|basic)\s+)?[^\s"',;&)}\]]+/gi,
    "$1…",
  ],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, "$1 …"],
  // Keys that services mark as such by their first letters.
  [/\b(?:sk-|ghp_|gho_|ghs_|github_pat_|glpat-|hf_|xox[abeprs]-|AKIA|AIza)[\w-]{8,}/g, "…"],
  // Addresses that are keys themselves.
  [/(hooks\.slack\.com\/|discord(?:app)?\.com\/api\/webhooks\/)[^\s"'<>]+/gi, "$1…"],
];

/** Values of environment variables whose names say that they are secret. Reading all takes long: once is enough. */
export function secretsOfEnvironment(): string[] {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return Object.entries(process?.env ?? {})
    .filter(([name, value]) => SECRET_NAME.test(name) && value !== undefined && value.length >= 8)
    .map(([, value]) => value!);
}

/** The text without `secrets`, and without what looks like one. */
export function redact(text: string, secrets: readonly string[]): string {
  // The longest first: a part of a secret must not be cut out of the whole and leave the rest.
  const known = secrets.toSorted((a, b) => b.length - a.length);
  const masked = known.reduce((left, secret) => left.replaceAll(secret, "…"), text);
  return PATTERNS.reduce((left, [pattern, shown]) => left.replace(pattern, shown), masked);
}
