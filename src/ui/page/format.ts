// Numbers, times and names as a person reads them.

/** At most five significant digits, as short as possible: 0.00012 → 1.2e-4. */
export function number(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return integer(value);
  if (size >= 1e6 || size < 1e-3)
    return minus(
      value
        .toExponential(2)
        .replace(/\.?0+e/, "e")
        .replace("e+", "e"),
    );
  return minus(String(Number(value.toPrecision(size >= 1000 ? 6 : 4))));
}

/** A value beside an axis: as few digits as its neighbours need. */
export function tick(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1e-3) return minus(value.toExponential(1).replace(".0e", "e").replace("e+", "e"));
  for (const [unit, letter] of [
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    if (size >= (unit === 1e3 ? 1e4 : 1e6)) return minus(`${Number((value / unit).toPrecision(4))}${letter}`);
  }
  return minus(String(Number(value.toPrecision(6))));
}

const minus = (text: string): string => text.replace(/^-/, "−");

/** With thin spaces between thousands: 1 048 576. */
export const integer = (value: number): string => minus(String(value).replaceAll(/\B(?=(\d{3})+(?!\d))/g, "\u{202F}"));

/** Seconds as 0.2 s, 12 s, 3 min 5 s, 2 h 4 min, 3 d 2 h. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  const whole = Math.max(0, seconds);
  if (whole < 1) return `${whole.toFixed(1)} s`;
  if (whole < 60) return `${Math.floor(whole)} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min${whole < 600 ? ` ${Math.floor(whole % 60)} s` : ""}`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86_400)} d ${Math.floor((whole % 86_400) / 3600)} h`;
}

export function bytes(count: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  let left = count;
  while (left >= 1000 && unit < units.length - 1) {
    left /= 1000;
    unit++;
  }
  return `${unit === 0 ? left : left.toPrecision(3)} ${units[unit]}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const two = (part: number): string => String(part).padStart(2, "0");

/** Today only the hour, else the day as well. Not by the browser's own words: a list of runs would wait for them. */
export function clock(time: number, now = Date.now()): string {
  const [at, today] = [new Date(time), new Date(now)];
  const sameYear = at.getFullYear() === today.getFullYear();
  const hour = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (sameYear && at.getMonth() === today.getMonth() && at.getDate() === today.getDate()) return hour;
  const day = `${MONTHS[at.getMonth()]} ${at.getDate()}`;
  return sameYear ? `${day}, ${hour}` : `${day} ${at.getFullYear()}`;
}

/** 2026-01-05 09:03:12 */
export function moment(time: number): string {
  const at = new Date(time);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export const ago = (time: number, now = Date.now()): string => `${duration((now - time) / 1000)} ago`;

/** A hyperparameter or an argument. */
export const value = (thing: unknown): string =>
  typeof thing === "number" ? number(thing) : typeof thing === "string" ? thing : JSON.stringify(thing);

/** `1 run`, `2 runs`. */
export const count = (n: number, thing: string, things = `${thing}s`): string =>
  `${integer(n)} ${n === 1 ? thing : things}`;
