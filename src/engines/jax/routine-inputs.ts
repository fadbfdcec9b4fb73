// jax-js's jit runs some primitives (sort, scatter, fft, …) as routines on arrays that lie in memory, and throws
// "routine primitive scatter input is not imm" when their input is a view of one: the gradient of `np.take` followed by
// a sum, pad or sort is. Here such an input is written to memory first, by a cast to the type that it has.
import { Jaxpr, makeJaxpr } from "@jax-js/jax";

type Equation = Jaxpr["eqns"][number];
type Variable = Jaxpr["inBinders"][number];

const ROUTINES = new Set(["sort", "argsort", "scatter", "triangular_solve", "cholesky", "lu", "jacobi_eigh", "fft"]);
const VIEWS = new Set(["transpose", "broadcast", "reshape", "flip", "shrink", "pad"]);

/** Is this the error of such a program? */
export const isRoutineOnView = (error: unknown): boolean =>
  error instanceof Error && /routine primitive \w+ input is not imm/.test(error.message);

/**
 * Rewrites the program that a jitted function has traced for these arguments, so that calling it again compiles. jit keeps
 * one jaxpr for each list of shapes; tracing the jitted function yields an equation that refers to it.
 */
export function writeRoutineInputs(jitted: (...args: never[]) => unknown, args: readonly unknown[]): void {
  const { jaxpr: traced } = makeJaxpr(jitted as (...args: unknown[]) => never)(...(args as never[]));
  for (const { params } of traced.jaxpr.eqns) {
    const { jaxpr } = params as { jaxpr?: unknown };
    if (jaxpr instanceof Jaxpr) Object.assign(jaxpr, withRoutineInputs(jaxpr.flatten().simplify()));
  }
  traced.dispose();
}

function withRoutineInputs(jaxpr: Jaxpr): Jaxpr {
  if (!jaxpr.eqns.some(({ primitive }) => ROUTINES.has(primitive))) return jaxpr;
  const isView = new Set<unknown>();
  const written = new Map<unknown, Variable>();
  const equations: Equation[] = [];
  for (const equation of jaxpr.eqns) {
    const { primitive, inputs, params, outBinders } = equation;
    if (VIEWS.has(primitive)) isView.add(outBinders[0]);
    if (!ROUTINES.has(primitive) || !inputs.some((input) => isView.has(input))) {
      equations.push(equation);
      continue;
    }
    // jax-js does not export these classes.
    const NewEquation = equation.constructor as new (...parts: unknown[]) => Equation;
    for (const input of inputs) {
      if (!isView.has(input) || written.has(input)) continue;
      const cast = castOf(input as Variable);
      written.set(input, cast);
      equations.push(new NewEquation("cast", [input], { dtype: input.aval.dtype }, [cast]));
    }
    const given = inputs.map((input) => written.get(input) ?? input);
    equations.push(new NewEquation(primitive, given, params, outBinders));
  }
  return new Jaxpr(jaxpr.inBinders, equations, jaxpr.outs);
}

/** A variable of the same shape and type, as a cast makes it. */
function castOf({ constructor, aval }: Variable): Variable {
  const NewAval = aval.constructor as new (...parts: unknown[]) => Variable["aval"];
  const NewVariable = constructor as new (of: Variable["aval"]) => Variable;
  return new NewVariable(new NewAval(aval.shape, aval.dtype, false));
}
