// Half-precision bits to float32: exact, as every half number is a float32 number.

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
