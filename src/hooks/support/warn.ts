// Where a built-in's warnings go: to the trainer's `warn`, or to the console like the trainer's own.

export function warn({ config }: { readonly config: Readonly<Record<string, unknown>> }, message: string): void {
  if (typeof config.warn === "function") (config.warn as (message: string) => void)(message);
  else console.warn(`hookline: ${message}`);
}
