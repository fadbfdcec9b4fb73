// Half precision and float32. From half it is exact, as every half number is a float32 number; to half it rounds to even.

/** bfloat16 is the upper half of a float32. */
export function bfloat16ToFloat32(bits: Uint16Array): Float32Array {
  const words = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) words[i] = bits[i]! << 16;
  return new Float32Array(words.buffer);
}

/** IEEE 754 half precision. */
export function float16ToFloat32(bits: Uint16Array): Float32Array {
  const table = (halves ??= halfTable());
  const words = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) words[i] = table[bits[i]!]!;
  return new Float32Array(words.buffer);
}

/** The float32 bits of every half number: 256 KB, made when first needed. */
let halves: Uint32Array | undefined;

function halfTable(): Uint32Array {
  const words = new Uint32Array(65536);
  const values = new Float32Array(words.buffer);
  for (let half = 0; half < 65536; half++) {
    const [sign, exponent, fraction] = [half >> 15, (half >> 10) & 31, half & 0x3ff];
    // Subnormal halves (and zero) are whole multiples of 2⁻²⁴; 31 marks infinity and NaN; the rest moves its exponent by 112.
    if (exponent === 0) values[half] = (sign === 0 ? 1 : -1) * fraction * 2 ** -24;
    else words[half] = (sign << 31) | ((exponent === 31 ? 255 : exponent + 112) << 23) | (fraction << 13);
  }
  return words;
}

/** Rounded to the nearest, ties to even, as PyTorch does; what is too large becomes infinite. */
export function float32ToBfloat16(values: Float32Array): Uint16Array {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const bits = new Uint16Array(words.length);
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    // Rounding up a NaN could make it infinite, or a zero.
    bits[i] = (word & 0x7fffffff) > 0x7f800000 ? (word >>> 16) | 0x40 : (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  }
  return bits;
}

export function float32ToFloat16(values: Float32Array): Uint16Array {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const bits = new Uint16Array(words.length);
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    bits[i] = ((word >>> 16) & 0x8000) | halfOf(word & 0x7fffffff);
  }
  return bits;
}

/** The half number nearest to a float32 ≥ 0, both as bits. */
function halfOf(word: number): number {
  if (word > 0x7f800000) return 0x7e00;
  // From 65520 on the nearest is 65536, which is none.
  if (word >= 0x477ff000) return 0x7c00;
  // Below 2⁻¹⁴ they are whole multiples of 2⁻²⁴.
  if (word < 0x38800000) return roundToEven(floatOf(word) * 2 ** 24);
  const moved = word - (112 << 23);
  return (moved + 0xfff + ((moved >>> 13) & 1)) >>> 13;
}

const scratch = new Float32Array(1);
const scratchWord = new Uint32Array(scratch.buffer);

function floatOf(word: number): number {
  scratchWord[0] = word;
  return scratch[0]!;
}

/** Adding 2⁵² leaves no room for a fraction, so the hardware rounds. */
const roundToEven = (value: number): number => value + 2 ** 52 - 2 ** 52;
