// ISO 8601 dates, read from bytes: a file with a million of them must not make a million strings.

const digit = (byte: number | undefined): number => (byte === undefined || byte < 48 || byte > 57 ? NaN : byte - 48);

/** A number of `count` digits; NaN if one of them is none. */
function digits(bytes: Uint8Array, at: number, count: number): number {
  let value = 0;
  for (let i = at; i < at + count; i++) value = value * 10 + digit(bytes[i]);
  return value;
}

const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const DAY = 86_400_000;

/** Days from 1970-01-01, by counting from March, so that the leap day is the last of a year. */
function daysSince1970(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);

/**
 * Milliseconds since 1970 of `2024-05-31`, `2024-05-31T12:00`, `2024-05-31 12:00:00.5Z` or `…+02:00`; NaN for anything
 * else. Without a zone, the time is UTC: a file must mean the same on every computer.
 */
export function parseDate(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < 10 || bytes[start + 4] !== 45 || bytes[start + 7] !== 45) return NaN;
  const year = digits(bytes, start, 4);
  const month = digits(bytes, start + 5, 2);
  const day = digits(bytes, start + 8, 2);
  if (!(year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= MONTH_DAYS[month - 1]!)) return NaN;
  if (month === 2 && day === 29 && !isLeap(year)) return NaN;
  const midnight = daysSince1970(year, month, day) * DAY;
  return end - start === 10 ? midnight : midnight + parseTime(bytes, start + 10, end);
}

/** Milliseconds of `T12:00`, `T12:00:00`, `T12:00:00.123` or the same with a zone. */
function parseTime(bytes: Uint8Array, start: number, end: number): number {
  const separator = bytes[start];
  if ((separator !== 84 && separator !== 116 && separator !== 32) || end - start < 6 || bytes[start + 3] !== 58)
    return NaN;
  const hours = digits(bytes, start + 1, 2);
  const minutes = digits(bytes, start + 4, 2);
  if (!(hours <= 23 && minutes <= 59)) return NaN;
  let time = (hours * 60 + minutes) * 60_000;
  let at = start + 6;
  if (at < end && bytes[at] === 58) {
    const seconds = at + 3 <= end ? digits(bytes, at + 1, 2) : NaN;
    if (!(seconds <= 59)) return NaN;
    time += seconds * 1000;
    at += 3;
    if (at < end && bytes[at] === 46) {
      const first = ++at;
      let scale = 1000;
      for (; at < end && !Number.isNaN(digit(bytes[at])); at++) time += digit(bytes[at]) * (scale /= 10);
      if (at === first) return NaN;
      // A Date has whole milliseconds.
      time = Math.floor(time + 1e-6);
    }
  }
  return at === end ? time : time - parseZone(bytes, at, end);
}

/** Milliseconds ahead of UTC of `Z`, `+02:00`, `+0200` or `+02`. */
function parseZone(bytes: Uint8Array, start: number, end: number): number {
  const sign = bytes[start];
  const length = end - start;
  if (length === 1 && (sign === 90 || sign === 122)) return 0;
  if (sign !== 43 && sign !== 45) return NaN;
  const hours = digits(bytes, start + 1, 2);
  let minutes = 0;
  if (length === 6 && bytes[start + 3] === 58) minutes = digits(bytes, start + 4, 2);
  else if (length === 5) minutes = digits(bytes, start + 3, 2);
  else if (length !== 3) return NaN;
  if (!(hours <= 23 && minutes <= 59)) return NaN;
  const ahead = (hours * 60 + minutes) * 60_000;
  return sign === 45 ? -ahead : ahead;
}

const encoder = /* @__PURE__ */ new TextEncoder();

/** The same of a text. */
export function dateOf(text: string): number {
  const bytes = encoder.encode(text);
  return parseDate(bytes, 0, bytes.length);
}
