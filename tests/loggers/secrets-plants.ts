// Fifty-five secrets of the kinds that people have, each with a part of its own that must not be found anywhere.

/** No two share eight letters, and none looks like a secret by itself. */
const core = (n: number): string => {
  const letters = "qwzxvkjhgfpmnbtr";
  let rest = (n + 1) * 2_654_435_761;
  let text = "";
  for (let i = 0; i < 14; i++) {
    text += letters[rest % 16];
    rest = Math.floor(rest / 16) + (n + 1) * 40_503 * (i + 1);
  }
  return `${text}${String(n).padStart(2, "0")}`;
};

export interface Plants {
  /** What to search for, by what it is. */
  readonly cores: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  /** A user's settings, nested, with innocent names for some. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Texts that errors, reasons and logged texts say. */
  readonly words: Readonly<
    Record<"hookError" | "backendError" | "stop" | "failure" | "text" | "why" | "run" | "tag", string>
  >;
  readonly service: Readonly<Record<"wandbKey" | "mlflowPassword" | "webhookToken", string>>;
}

export function plants(): Plants {
  const cores: Record<string, string> = {};
  const plant = (what: string): string => (cores[what] = core(Object.keys(cores).length));
  const env = {
    ACME_API_KEY: plant("env: key, under an innocent name"),
    HF_TOKEN: plant("env: token, in a text"),
    DB_PASSWORD: plant("env: password, in a hook's error"),
    AWS_SECRET_ACCESS_KEY: plant("env: secret, in a backend's error"),
    GOOGLE_CREDENTIALS: plant("env: credentials, in the stop's reason"),
    NPM_AUTH: plant("env: auth, on the command line"),
    SIGNING_PASSPHRASE: plant("env: passphrase, in the run's name"),
    DB_PWD: plant("env: pwd, in a list"),
    SMTP_PASS: plant("env: pass, in base64"),
    API_BEARER: plant("env: bearer, in hex"),
    SIGNING_PRIVATE: `${plant("env: private, in a URL")}/+ä`,
  };
  const settings = {
    innocent: env.ACME_API_KEY,
    apiKey: plant("config: apiKey"),
    database: { user: "ann", password: plant("config: nested password"), pin_password: 9_071_553_842_617 },
    services: [{ name: "s", authToken: plant("config: token in a list") }, { note: `is ${env.DB_PWD}` }],
    deep: { er: { still: { client_secret: plant("config: deep secret") } } },
    credentials: { json: { id: plant("config: an object that is secret as a whole") } },
    passphrase: plant("config: passphrase"),
    source: `postgres://ann:${plant("URL: user and password")}@db.example.com/data`,
    upload: `https://example.com/put?part=1&X-Amz-Signature=${plant("URL: signature")}&x=2`,
    download: `https://example.com/get?access_token=${plant("URL: access_token")}`,
    maps: `https://example.com/maps?key=${plant("URL: key")}#top`,
    blob: `https://x.blob.example.net/c?sv=2022&sig=${plant("URL: sig")}`,
    hook: `https://hooks.slack.com/services/T0/B0/${plant("URL: Slack")}`,
    chat: `https://discord.com/api/webhooks/1/${plant("URL: Discord")}`,
    header: `Authorization: Bearer ${plant("header: bearer")}`,
    basic: `sent Basic ${plant("header: basic")}=`,
    xApi: `x-api-key: ${plant("header: x-api-key")}`,
    openai: `sk-proj-${plant("key: OpenAI")}`,
    github: `ghp_${plant("key: GitHub")}`,
    pat: `github_pat_11A_${plant("key: GitHub, fine-grained")}`,
    gitlab: `glpat-${plant("key: GitLab")}`,
    hub: `hf_${plant("key: Hugging Face")}`,
    slack: `xoxb-12-${plant("key: Slack")}`,
    aws: `AKIA${plant("key: AWS").toUpperCase()}`,
    stripe: `sk_live_${plant("key: Stripe")}`,
    npm: `npm_${plant("key: npm")}`,
    jwt: `eyJhbGciOiJIUzI1NiJ9.eyJ${plant("JWT")}.c2lnbmF0dXJl`,
    pem: `-----BEGIN PRIVATE KEY-----\nMIIE${plant("PEM")}\n-----END PRIVATE KEY-----`,
    dbPass: plant("config: dbPass"),
    bearer: plant("config: bearer"),
    signing: { private: plant("config: private") },
    encoded: `sent ${btoa(`ann:${env.SMTP_PASS}`)}`,
    hexed: `digest of ${Array.from(env.API_BEARER, (c) => c.charCodeAt(0).toString(16)).join("")}`,
    query: `https://example.com/?q=${encodeURIComponent(env.SIGNING_PRIVATE)}`,
    quoted: `{"password": "two words, and ${plant("quoted, with blanks")}"}`,
  };
  const words = {
    hookError: `cannot connect with ${env.DB_PASSWORD} or token=${plant("error of a hook")}`,
    backendError: `put failed: ${env.AWS_SECRET_ACCESS_KEY}, secret: ${plant("error of a backend")}`,
    stop: `quota of ${env.GOOGLE_CREDENTIALS} is used up, password=${plant("reason to stop")}`,
    failure: `GET https://ann:${plant("error that ends the run")}@example.com failed`,
    text: `loaded with ${env.HF_TOKEN} and Bearer ${plant("text that a hook logs")}`,
    why: `api_key=${plant("why a hook skips")}`,
    run: `run of ${env.SIGNING_PASSPHRASE}`,
    tag: `sk-${plant("tag of a run")}`,
  };
  const args = [
    "--label",
    env.NPM_AUTH,
    "--api-key",
    plant("argument after its name"),
    `--password=${plant("argument")}`,
  ];
  const service = {
    wandbKey: plant("W&B key"),
    mlflowPassword: plant("MLflow password"),
    webhookToken: plant("webhook address"),
  };
  cores["config: a password that is a number"] = "9071553842617";
  return { cores, env, args, settings, words, service };
}
