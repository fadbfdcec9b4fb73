// A font of 3 × 5 pixels for images that are drawn without any library: capital letters, digits and a few signs.

export const GLYPH_HEIGHT = 5;
const GLYPH_WIDTH = 3;

/** Each row of a glyph as one digit, whose bits are its pixels. */
const GLYPHS: Readonly<Record<string, string>> = {
  0: "75557", 1: "26227", 2: "71747", 3: "71717", 4: "55711", 5: "74717", 6: "74757", 7: "71111", 8: "75757", 9: "75717",
  A: "25755", B: "65656", C: "34443", D: "65556", E: "74647", F: "74644", G: "34553", H: "55755", I: "72227", J: "11152",
  K: "55655", L: "44447", M: "57755", N: "65555", O: "25552", P: "65644", Q: "25573", R: "65655", S: "34216", T: "72222",
  U: "55557", V: "55552", W: "55775", X: "55255", Y: "55222", Z: "71247",
  ".": "00002", "-": "00700", _: "00007", "/": "11244", "%": "51245", "+": "02720", " ": "00000", "?": "61202",
}; // prettier-ignore

/** The pixels of a letter, row by row; letters that the font lacks look like `?`. */
export const glyphRows = (letter: string): boolean[][] =>
  Array.from(GLYPHS[letter.toUpperCase()] ?? GLYPHS["?"]!, (row) =>
    Array.from({ length: GLYPH_WIDTH }, (_, x) => (Number(row) & (4 >> x)) !== 0),
  );

/** The width of so many letters. */
export const textPixels = (letters: number, scale: number): number => letters * (GLYPH_WIDTH + 1) * scale;
