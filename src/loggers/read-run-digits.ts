// Numbers with more digits than a double can count: read exactly, without making a string for each.

const [DOT, ZERO, NINE] = [46, 48, 57];
/** Digits that fit into a double exactly, and how many more can be added to them here. */
const HEAD = 15;
const MOST = 19;
/** Splits a double into two halves whose products are exact. */
const SPLIT = 2 ** 27 + 1;
/** More than what the division below can be wrong by, relative to its result. */
const DOUBT = 2 ** -98;

/**
 * The digits from `at` on, a dot among them passed over, divided by a power of ten up to 10^22; NaN when that is too
 * close to call. Twice the precision of a double is more than enough to round nearly every number right, and the rest
 * can be told.
 */
export function quotient(bytes: Uint8Array, at: number, power: number): number {
  let head = 0;
  let tail = 0;
  let shift = 1;
  let digits = 0;
  for (let i = at; ; i++) {
    const byte = bytes[i]!;
    if (byte === DOT) continue;
    if (!(byte >= ZERO && byte <= NINE)) break;
    if (digits === 0 && byte === ZERO) continue;
    if (++digits <= HEAD) head = head * 10 + (byte - ZERO);
    else {
      tail = tail * 10 + (byte - ZERO);
      shift *= 10;
    }
  }
  if (digits > MOST) return NaN;
  // All digits as the exact sum of two doubles.
  const product = head * shift;
  const high = product + tail;
  const low = tail - (high - product) + errorOf(head, shift, product);
  // Long division: the first quotient, and what it leaves.
  const first = high / power;
  const back = first * power;
  const second = (high - back - errorOf(first, power, back) + low) / power;
  const doubt = first * DOUBT;
  const value = first + (second - doubt);
  return value === first + (second + doubt) ? value : NaN;
}

/** What is missing from a rounded product (Dekker's): the exact one is `product + errorOf(a, b, product)`. */
function errorOf(a: number, b: number, product: number): number {
  const wideA = SPLIT * a;
  const highA = wideA - (wideA - a);
  const lowA = a - highA;
  const wideB = SPLIT * b;
  const highB = wideB - (wideB - b);
  const lowB = b - highB;
  return lowA * lowB - (product - highA * highB - lowA * highB - highA * lowB);
}
