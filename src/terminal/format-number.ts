// How numbers look to a person: four digits, exponents only where they help, accuracies in percent.

/** `lr`, `lr/encoder`, `optimizer/lr`. */
const RATE = /(?:^|\/)lr(?:\/|$)/;
/** `val/accuracy`, `accuracyByBytes`, `top5`, `val/balancedAccuracy`. */
const SHARE = /(?:accuracy(?:by\w+)?|(?:^|[/_-])acc|(?:^|[/_-])top-?\d+)$/i;

/** `3.125e-5`, and `1e-3` instead of `1.000e-3`. */
const exponent = (value: number, digits: number): string =>
  value
    .toExponential(digits - 1)
    .replace(/\.?0+e/, "e")
    .replace("e+", "e");

function notFinite(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "inf" : "-inf";
}

/** Always as many digits, so that a number that changes does not jump about; whole numbers as they are. */
export function formatNumber(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return notFinite(value);
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e9) return String(value + 0);
  if (size < 1e-3 || size >= 10 ** (digits + 2)) return exponent(value, digits);
  return value.toFixed(Math.max(0, digits - 1 - Math.floor(Math.log10(size))));
}

/** Learning rates are mostly round: 0.001, 3e-4. */
function formatLr(value: number): string {
  const short = Number(value.toPrecision(3));
  return short !== 0 && Math.abs(short) < 1e-3 ? exponent(short, 3) : String(short);
}

type Format = (value: number) => string;
const formatPlain: Format = (value) => formatNumber(value);
const formatRate: Format = (value) => (Number.isFinite(value) ? formatLr(value) : formatNumber(value));

/** How values of a metric are written, by its name: numbers that a program can read too. */
export const formatOf = (name: string): Format => (RATE.test(name) ? formatRate : formatPlain);

/** A metric by its name, for people. */
export function formatMetric(name: string, value: number): string {
  return SHARE.test(name) && value >= 0 && value <= 1 ? `${(100 * value).toFixed(2)}%` : formatOf(name)(value);
}
