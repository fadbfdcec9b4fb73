// How long a service asks to wait before the next attempt: the header `Retry-After`, in seconds or as a date.

/** Milliseconds from now; undefined for what asks for no pause or is no time, so that the sender's own pauses hold. */
export function retryAfterMs(header: string | null | undefined, now = Date.now()): number | undefined {
  const text = header?.trim() ?? "";
  // A date always names its day or month; `Date.parse` would also take "-5" for one.
  const ms = /^\d+(?:\.\d+)?$/.test(text)
    ? Number(text) * 1000
    : /[a-z]/i.test(text)
      ? Date.parse(text) - now
      : Number.NaN;
  return ms > 0 ? ms : undefined;
}
