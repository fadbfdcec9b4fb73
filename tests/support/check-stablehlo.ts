// A strict reader of the StableHLO that the xla engine writes: every name is defined once and before it is used, every
// operand has the type that its line says, and every result the shape that the operation gives it. It knows nothing of how
// the text was made.

interface Type {
  readonly shape: readonly number[];
  readonly element: string;
}

interface Line {
  readonly text: string;
  readonly op: string;
  readonly operands: readonly Type[];
  readonly result: Type;
}

const FLOATS = ["f32", "bf16"];
const WHOLES = ["i32", "ui32"];

function fail(text: string, why: string): never {
  throw new Error(`${why}: ${text}`);
}

function type(text: string): Type {
  if (text === "tensor<0xui8>") return { shape: [0], element: "ui8" };
  const inside = /^tensor<(.*)>$/.exec(text)?.[1] ?? fail(text, "no tensor");
  const parts = inside.split("x");
  const element = parts.pop()!;
  if (![...FLOATS, ...WHOLES, "i1"].includes(element)) fail(text, "unknown element type");
  return { shape: parts.map(Number), element };
}

const types = (text: string): Type[] => [...text.matchAll(/tensor<[^>]*>/g)].map(([one]) => type(one));
const size = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
const same = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((n, i) => n === b[i]);
const sameType = (a: Type, b: Type): boolean => a.element === b.element && same(a.shape, b.shape);

/** The numbers behind a name, such as `dims = [1, 0]` or `window_dimensions = array<i64: 1, 2>`. */
function list(text: string, name: string): number[] {
  const found = new RegExp(`${name} = (?:\\[|array<i64: )([^\\]>]*)`).exec(text) ?? fail(text, `no ${name}`);
  return found[1]!
    .split(",")
    .filter((part) => part.trim() !== "")
    .map(Number);
}

/** Both lists of `[…] x […]`. */
function pairs(text: string, name: string): [number[], number[]] {
  const found = new RegExp(`${name} = \\[([^\\]]*)\\] x \\[([^\\]]*)\\]`).exec(text);
  const numbers = (part = ""): number[] => part.split(",").filter(Boolean).map(Number);
  return [numbers(found?.[1]), numbers(found?.[2])];
}

const one = (text: string, name: string): number =>
  Number((new RegExp(`${name} = (-?\\d+)`).exec(text) ?? fail(text, `no ${name}`))[1]);

/** The shape that the operation gives. */
type Rule = (line: Line) => readonly number[];
const likeFirst: Rule = ({ operands }) => operands[0]!.shape;
const RULES: Readonly<Record<string, Rule>> = {
  constant: ({ result }) => result.shape,
  optimization_barrier: likeFirst,
  iota({ text, result }) {
    if (one(text, "dim") >= result.shape.length) fail(text, "no such dimension");
    return result.shape;
  },
  reshape({ text, operands, result }) {
    if (size(operands[0]!.shape) !== size(result.shape)) fail(text, "another number of elements");
    return result.shape;
  },
  transpose({ text, operands }) {
    const order = list(text, "dims");
    if (
      !same(
        [...order].sort((a, b) => a - b),
        operands[0]!.shape.map((_, i) => i),
      )
    )
      fail(text, "no permutation");
    return order.map((axis) => operands[0]!.shape[axis]!);
  },
  broadcast_in_dim({ text, operands, result }) {
    const dims = list(text, "dims");
    const fits = dims.every((axis, i) => [1, result.shape[axis]].includes(operands[0]!.shape[i]));
    if (!fits || dims.length !== operands[0]!.shape.length) fail(text, "dimensions that do not fit");
    return result.shape;
  },
  slice({ text, operands }) {
    const ranges = /\[([^\]]*)\] :/
      .exec(text)![1]!
      .split(", ")
      .map((range) => range.split(":").map(Number));
    return ranges.map(([from, to, step = 1], i) => {
      if (from! < 0 || to! > operands[0]!.shape[i]! || from! > to!) fail(text, "a range outside");
      return Math.ceil((to! - from!) / step);
    });
  },
  pad({ text, operands }) {
    const [low, high, interior] = ["low", "high", "interior"].map((name) => list(text, name));
    return operands[0]!.shape.map((n, i) => low![i]! + high![i]! + n + Math.max(n - 1, 0) * interior![i]!);
  },
  concatenate({ text, operands }) {
    const axis = one(text, "dim");
    const length = operands.reduce((sum, { shape }) => sum + shape[axis]!, 0);
    return operands[0]!.shape.map((n, i) => (i === axis ? length : n));
  },
  reduce({ text, operands }) {
    const axes = list(text, "dimensions");
    return operands[0]!.shape.filter((_, i) => !axes.includes(i));
  },
  dot_general({ text, operands }) {
    const [batch, contracted] = [pairs(text, "batching_dims"), pairs(text, "contracting_dims")];
    const [left, right] = operands.map(({ shape }) => shape) as [number[], number[]];
    for (const [a, b] of [batch, contracted]) {
      if (
        !same(
          a.map((i) => left[i]),
          b.map((i) => right[i]),
        )
      )
        fail(text, "sides that do not match");
    }
    const free = (shape: number[], side: 0 | 1): number[] =>
      shape.filter((_, i) => !batch[side].includes(i) && !contracted[side].includes(i));
    return [...batch[0].map((i) => left[i]!), ...free(left, 0), ...free(right, 1)];
  },
  convolution({ text, operands }) {
    const numbers = (name: string): number[] => list(text, name);
    const padding = /pad = \[((?:\[[^\]]*\](?:, )?)+)\]/.exec(text)![1]!;
    const pad = [...padding.matchAll(/\[(-?\d+), (-?\d+)\]/g)].map(([, low, high]) => Number(low) + Number(high));
    const groups = one(text, "feature_group_count");
    const [image, kernel] = operands.map(({ shape }) => shape) as [number[], number[]];
    if (image[1] !== kernel[1]! * groups) fail(text, "other numbers of features");
    const wide = (n: number, by: number): number => (n - 1) * by + 1;
    const places = kernel.slice(2).map((window, i) => {
      const room = wide(image[i + 2]!, numbers("lhs_dilate")[i]!) + pad[i]!;
      return Math.floor((room - wide(window, numbers("rhs_dilate")[i]!)) / numbers("stride")[i]!) + 1;
    });
    return [image[0]!, kernel[0]!, ...places];
  },
  reduce_window({ text, operands }) {
    const [window, strides] = [list(text, "window_dimensions"), list(text, "window_strides")];
    return operands[0]!.shape.map((n, i) => Math.floor((n - window[i]!) / strides[i]!) + 1);
  },
  gather({ text, operands }) {
    const sizes = list(text, "slice_sizes");
    const collapsed = list(text, "collapsed_slice_dims");
    return [...operands[1]!.shape.slice(0, -1), ...sizes.filter((_, i) => !collapsed.includes(i))];
  },
  /** Of cuDNN: [batch, tokens, heads, features] in, heads before tokens out. Keys and values may have fewer heads. */
  custom_call({ text, operands }) {
    const [, bias, backward] =
      /@__cudnn\$fmha(ScaleBias)?Softmax(Backward)?\(/.exec(text) ?? fail(text, "unknown function");
    const given = operands.map(({ shape }) => shape);
    const [query, key, value] = given as [number[], number[], number[]];
    const [batch, tokens, heads, features] = query as [number, number, number, number];
    const asked = [batch, tokens, key[2]!, features];
    if (!same(key, asked) || !same(value, asked) || heads % key[2]! !== 0)
      fail(text, "keys or values of another shape");
    const [batches, biasHeads] = given[backward ? 5 : 3] ?? [];
    if (bias && !([1, batch].includes(batches!) && [1, heads].includes(biasHeads!)))
      fail(text, "a bias of other heads or batches");
    const after = [
      ...(backward ? [[batch, heads, tokens], query] : []),
      ...(bias ? [[batches!, biasHeads!, tokens, tokens]] : []),
      ...(backward ? [query] : []),
    ];
    if (given.length !== 3 + after.length || !after.every((shape, i) => same(shape, given[3 + i]!)))
      fail(text, "operands of other shapes");
    return [batch, heads, tokens, features];
  },
  scatter: likeFirst,
  sort: likeFirst,
  compare: likeFirst,
  select: ({ operands }) => operands[1]!.shape,
  convert: likeFirst,
  bitcast_convert: likeFirst,
  reverse: likeFirst,
};
const ELEMENTWISE = new Set(
  "add subtract multiply divide minimum maximum remainder negate floor ceil sqrt exponential log sine cosine atan2 and or xor shift_left shift_right_logical popcnt tanh asin erf erfc".split(
    " ",
  ),
);
/** Which elements an operation takes, where not all. */
const TAKES: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    ["exponential", "tanh", "log", "sine", "cosine", "sqrt", "floor", "ceil", "atan2", "asin", "erf", "erfc"].map(
      (op) => [op, FLOATS],
    ),
  ),
  ...Object.fromEntries(["shift_left", "shift_right_logical", "popcnt"].map((op) => [op, WHOLES])),
  ...Object.fromEntries(["and", "or", "xor"].map((op) => [op, [...WHOLES, "i1"]])),
};

/** Throws at the first line that is wrong; returns how many operations there are of each kind. */
export function checkStableHlo(module: string): Record<string, number> {
  const counts: Record<string, number> = {};
  const known = new Map<string, Type>();
  const define = (name: string, of: Type): void => {
    if (known.has(name)) fail(name, "defined twice");
    known.set(name, of);
  };
  // A region is part of the line that it belongs to.
  const [head, ...lines] = module.replaceAll(/\(\{[\s\S]*?\}\)/g, (region) => checkRegion(region)).split("\n    ");
  for (const [, name, of] of head!.matchAll(/(%\w+): (tensor<[^>]*>)/g)) define(name!, type(of!));
  const results = types(head!.slice(head!.lastIndexOf("->")));
  for (const line of lines) {
    const text = line.trim();
    if (text.startsWith("return")) {
      const returned = [...text.matchAll(/%[\w#]+/g)].map(([name]) => known.get(name) ?? fail(text, `no ${name}`));
      if (!same(returned.map(show), results.map(show)) || !same(types(text).map(show), results.map(show)))
        fail(text, "other results");
      return counts;
    }
    const [, name, several, rest] = /^(%\w+)(?::(\d+))? = (.*)$/s.exec(text) ?? fail(text, "no operation");
    const op = /^"?(?:stablehlo|chlo)\.(\w+)"?/.exec(rest!)?.[1] ?? fail(text, "no operation");
    counts[op] = (counts[op] ?? 0) + 1;
    const uses = [...rest!.matchAll(/%[\w#]+/g)].map(([use]) => known.get(use) ?? fail(text, `${use} is not defined`));
    const signature = rest!.slice(rest!.lastIndexOf(" : ") + 3);
    const [given, made] = signature.includes(" -> ")
      ? signature.split(" -> ").map(types)
      : [undefined, types(signature)];
    if (given && !same(given.map(show), uses.map(show))) fail(text, `operands are ${uses.map(show).join(", ")}`);
    if (op === "optimization_barrier" && !same(uses.map(show), made.map(show))) fail(text, "other operands");
    if (!given && !["select", "optimization_barrier"].includes(op) && !uses.every((use) => sameType(use, made.at(-1)!)))
      fail(text, "other operands");
    const result = made.at(-1)!;
    check({ text, op, operands: uses, result: several ? made[0]! : result });
    if (several) for (const [i, of] of made.entries()) define(`${name}#${i}`, of);
    else define(name!, result);
  }
  return fail(module.slice(0, 80), "no return");
}

const show = ({ shape, element }: Type): string => [...shape, element].join("x");

function check(line: Line): void {
  const { text, op, operands, result } = line;
  const rule = RULES[op] ?? (ELEMENTWISE.has(op) ? likeFirst : fail(text, "unknown operation"));
  const shape = rule(line);
  if (!same(shape, result.shape)) fail(text, `the result has shape [${shape.join()}]`);
  if (TAKES[op] && !TAKES[op].includes(operands[0]!.element)) fail(text, `not of ${operands[0]!.element}`);
  const changes = ["constant", "iota", "compare", "convert", "bitcast_convert", "select", "dot_general", "convolution"];
  if (!changes.includes(op) && result.element !== operands[0]!.element) fail(text, "another element type");
  if (op === "compare" && result.element !== "i1") fail(text, "no truth values");
  if (op === "select" && (operands[0]!.element !== "i1" || !sameType(operands[1]!, operands[2]!)))
    fail(text, "sides differ");
}

/** Scalars in, one out; leaves nothing of it in the line. */
function checkRegion(region: string): string {
  const known = new Map([...region.matchAll(/(%\w+): (tensor<[^>]*>)/g)].map(([, name, of]) => [name!, type(of!)]));
  if ([...known.values()].some(({ shape }) => shape.length > 0)) fail(region, "no scalars");
  for (const [, name, use] of region.matchAll(/(%\w+) = [^\n]*? (%\w+), %\w+/g)) known.set(name!, known.get(use!)!);
  const returned = /stablehlo\.return (%\w+) : tensor<\w+>/.exec(region)?.[1] ?? fail(region, "no return");
  if (!known.has(returned)) fail(region, `${returned} is not defined`);
  return "";
}
