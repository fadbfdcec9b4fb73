// Hides what looks like a secret in text that leaves the machine: an error message may quote a URL or a header.

const SECRET_NAME = /key|token|secret|passw|passphrase|pwd|credential|auth|cookie|bearer|private$/i;
/** `pass` as a word of its own at the end of a name, however the words are joined: DB_PASS, dbPass, PGPASS. */
const PASS = /(?:^|[-_.])pass$|[a-z]Pass$|(?<!\b(?:BY|COM|TRES|SUR|OVER|UNDER))PASS$/;
/** Names of what is secret even if it is a number: `tokens: 1000` is none. */
const SECRET_NUMBER = /secret|passw|passphrase|pwd|credential/i;

/** Is a value secret by its name? */
export function isSecret(name: string, value: unknown): boolean {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  if (isNumber) return SECRET_NUMBER.test(name);
  return isSecretName(name) && (typeof value === "string" || typeof value === "object");
}

const isSecretName = (name: string): boolean => SECRET_NAME.test(name) || PASS.test(name);

/** Each pattern is linear: what repeats in it cannot also match what follows, or ends where the next try begins. */
const PATTERNS: readonly (readonly [pattern: RegExp, shown: string])[] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, "…"],
  // https://user:password@host
  [/:\/\/[^\s/@]+@/g, "://…@"],
  // api_key=…, "token": "…", Authorization: Bearer …; what is quoted, up to the quote.
  [
    /((?:api[-_]?key|access[-_]?key|account[-_]?key|token|secret|passw(?:or)?d|passphrase|pwd|authorization|credentials?|bearer|_pass|_private)["']?\s*[:=]\s*)(?:"[^"]*|'[^']*|(?:(?:bearer|basic)\s+)?[^\s"',;&)}\]]+)/gi,
    "$1…",
  ],
  // Of an address: ?key=…, &sig=…, &X-Amz-Signature=…
  [/([?&](?:key|sig|[\w-]{0,40}signature|[\w-]{0,40}[-_]key)=)[^\s&#"'<>]+/gi, "$1…"],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, "$1 …"],
  // Keys that services mark as such by their first letters.
  [
    /\b(?:sk-|[rs]k_live_|[rs]k_test_|whsec_|ghp_|gho_|ghs_|ghu_|github_pat_|glpat-|hf_|pypi-|xox[abeprs]-|AKIA|ASIA|AIza)[\w-]{8,}/g,
    "…",
  ],
  [/\bnpm_[A-Za-z0-9]{16,}/g, "…"],
  // JSON web tokens.
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g, "…"],
  // Addresses that are keys themselves.
  [/(hooks\.slack\.com\/|discord(?:app)?\.com\/api\/webhooks\/)[^\s"'<>]+/gi, "$1…"],
];

/** Where the program is, which a shell tells everyone. */
const NO_SECRETS = new Set(["PWD", "OLDPWD"]);

/** Values of environment variables whose names say that they are secret. Reading all takes long: once is enough. */
export function secretsOfEnvironment(): string[] {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return Object.entries(process?.env ?? {})
    .filter(([name, value]) => isSecretName(name) && !NO_SECRETS.has(name) && (value ?? "").length >= 8)
    .map(([, value]) => value!);
}

/** A command line without secrets: `--api-key …` and `--api-key=…` as well. */
export function redactArguments(args: readonly string[], secrets: readonly string[]): string[] {
  return args.map((arg, i) => {
    const [, before] = /^--?([\w.-]+)$/.exec(args[i - 1] ?? "") ?? [];
    const isValue = before !== undefined && !arg.startsWith("-");
    if (isValue && isSecret(before, asNumber(arg))) return "…";
    const [, start, name, value] = /^(-{0,2}([\w.-]+)=)(.*)$/s.exec(arg) ?? [];
    return name !== undefined && isSecret(name, asNumber(value!)) ? `${start}…` : redact(arg, secrets);
  });
}

const asNumber = (text: string): number | string => (/^[\d.]+(?:e\d+)?$/.test(text) ? Number(text) : text);

/** The text without `secrets`, also as base64, hex, JSON or part of a URL, and without what looks like a secret. */
export function redact(text: string, secrets: readonly string[]): string {
  // The longest first: a part of a secret must not be cut out of the whole and leave the rest.
  const known = secrets.flatMap(writtenForms).sort((a, b) => b.length - a.length);
  const masked = known.reduce((left, secret) => left.replaceAll(secret, "…"), text);
  return PATTERNS.reduce((left, [pattern, shown]) => left.replace(pattern, shown), masked);
}

/** Shorter forms would be found in texts that have nothing to do with the secret. */
const SHORTEST_FORM = 8;
const MOST_REMEMBERED = 1000;
const remembered = new Map<string, readonly string[]>();

/** A secret in the writings in which it travels. */
function writtenForms(secret: string): readonly string[] {
  let forms = remembered.get(secret);
  if (!forms) {
    if (remembered.size >= MOST_REMEMBERED) remembered.clear();
    const encoded = encodedForms(secret).filter((form) => form.length >= SHORTEST_FORM);
    remembered.set(secret, (forms = [...new Set([secret, ...encoded])]));
  }
  return forms;
}

function encodedForms(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const url = encodeURIComponent(secret.replace(/\p{Cs}/gu, "\uFFFD"));
  const lower = url.replace(/%../g, (code) => code.toLowerCase());
  const base64 = [0, 1, 2].map((before) => base64Within(bytes, before));
  return [
    hex,
    hex.toUpperCase(),
    url,
    lower,
    url.replaceAll("%20", "+"),
    JSON.stringify(secret).slice(1, -1),
    ...base64,
    ...base64.map((form) => form.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}

/** The letters of base64 that depend on the secret alone, where `before` bytes of a group of three precede it. */
function base64Within(bytes: Uint8Array, before: number): string {
  const text = btoa("\0".repeat(before) + Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return text.slice(Math.ceil((8 * before) / 6), Math.floor((8 * (before + bytes.length)) / 6));
}
