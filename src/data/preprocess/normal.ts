// The normal distribution: the value below which a share of it lies, and the share below a value.

type Coefficients = readonly number[];

const polynomial = (coefficients: Coefficients, x: number): number =>
  coefficients.reduceRight((sum, coefficient) => sum * x + coefficient, 0);

// Rational approximations of Wichura, algorithm AS 241: about 16 digits.
const CENTRE: readonly [Coefficients, Coefficients] = [
  [
    3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946, 45921.95393154987, 67265.7709270087,
    33430.57558358813, 2509.0809287301227,
  ],
  [
    1, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597, 39307.89580009271,
    28729.085735721943, 5226.495278852854,
  ],
];
const NEAR: readonly [Coefficients, Coefficients] = [
  [
    1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045, 1.2704582524523684,
    0.2417807251774506, 0.022723844989269184, 0.0007745450142783414,
  ],
  [
    1, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008, 0.015198666563616457,
    0.0005475938084995345, 1.0507500716444169e-9,
  ],
];
const FAR: readonly [Coefficients, Coefficients] = [
  [
    6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487, 0.026532189526576124,
    0.0012426609473880784, 0.000027115555687434876, 2.0103343992922881e-7,
  ],
  [
    1, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 0.0007868691311456133, 0.000018463183175100548,
    1.421511758316446e-7, 2.0442631033899397e-15,
  ],
];

const ratio = ([above, below]: readonly [Coefficients, Coefficients], x: number): number =>
  polynomial(above, x) / polynomial(below, x);

/** The value below which this share of a standard normal distribution lies; infinite for 0 and 1. */
export function inverseNormal(share: number): number {
  const fromMiddle = share - 0.5;
  if (Math.abs(fromMiddle) <= 0.425) return fromMiddle * ratio(CENTRE, 0.180625 - fromMiddle * fromMiddle);
  const tail = Math.min(share, 1 - share);
  if (tail <= 0) return fromMiddle * Infinity;
  const r = Math.sqrt(-Math.log(tail));
  const value = r <= 5 ? ratio(NEAR, r - 1.6) : ratio(FAR, r - 5);
  return fromMiddle < 0 ? -value : value;
}

/** The share of a standard normal distribution below a value: the inverse of `inverseNormal`, found by bisection. */
export function normalShare(value: number): number {
  let [low, high] = [0, 1];
  // Each round gives one bit, of which a number has 53.
  for (let round = 0; round < 53; round++) {
    const middle = (low + high) / 2;
    if (inverseNormal(middle) < value) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
