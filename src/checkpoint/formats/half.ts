// Half-precision bits to float32: exact, as every half number is a float32 number.

/** bfloat16 is the upper half of a float32. */
export function bfloat16ToFloat32(bits: Uint16Array): Float32Array {
  const words = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) words[i] = bits[i]! << 16;
  return new Float32Array(words.buffer);
}

/** IEEE 754 half precision. */
export function float16ToFloat32(bits: Uint16Array): Float32Array {
  const words = new Uint32Array(bits.length);
  const values = new Float32Array(words.buffer);
  for (let i = 0; i < bits.length; i++) {
    const half = bits[i]!;
    const [sign, exponent, fraction] = [(half & 0x8000) << 16, (half >> 10) & 31, half & 0x3ff];
    // Subnormal halves (and zero) are whole multiples of 2⁻²⁴; 31 marks infinity and NaN; the rest moves its exponent by 112.
    if (exponent === 0) values[i] = (sign === 0 ? 1 : -1) * fraction * 2 ** -24;
    else words[i] = sign | ((exponent === 31 ? 255 : exponent + 112) << 23) | (fraction << 13);
  }
  return values;
}
