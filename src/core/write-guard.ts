// Assigning to a context is always a mistake, and plain JavaScript would ignore it without a word: here it is an error
// that says what to do instead.
import { ContextError } from "./errors.ts";
import { nearest } from "./names.ts";

/** What changes a field that cannot be assigned. */
export type Instead = ReadonlyMap<string, string>;

/** How other systems say it, in lower case without underscores. */
const ALIASES: Readonly<Record<string, string>> = {
  shouldstop: "ctx.stop(reason)",
  shouldtrainingstop: "ctx.stop(reason)",
  stoptraining: "ctx.stop(reason)",
  shouldepochstop: 'ctx.skip("epoch")',
  shouldsave: "ctx.requestSave()",
  shouldevaluate: "ctx.requestEval()",
  shouldlog: "ctx.log({ name: value })",
};

function refuse(key: string, known: readonly string[], instead: Instead): never {
  if (known.includes(key)) {
    const advice = instead.has(key) ? ` Use ${instead.get(key)}.` : "";
    throw new ContextError(`ctx.${key} cannot be assigned.${advice}`);
  }
  // Of two that are equally near, the one that people do try to assign.
  const near = nearest(key, [...instead.keys(), ...known]);
  const meant = ALIASES[key.toLowerCase().replaceAll("_", "")] ?? (near && (instead.get(near) ?? `ctx.${near}`));
  throw new ContextError(
    `The context has no field \`${key}\` to assign.${meant === undefined ? "" : ` Did you mean ${meant}?`} What a hook keeps for itself belongs to the hook, or into ctx.shared.`,
  );
}

/** As the last prototype of an object it is asked about every assignment to a field that the object does not have. */
function lastPrototype(known: readonly string[], instead: Instead): object {
  return new Proxy(Object.prototype, {
    set: (_, key) => (typeof key === "symbol" ? false : refuse(key, known, instead)),
  });
}

/** The same property, read as before; assigning it is an error. */
const readOnly = ({ value, get }: PropertyDescriptor, refused: () => never): PropertyDescriptor => ({
  get: get ?? (() => value as unknown),
  set: refused,
  enumerable: true,
  configurable: true,
});

/** Makes assignments to instances of a class errors: its fields and those of its base class are accessors or private. */
export function refuseAssignments(of: { readonly prototype: object }, instead: Instead): void {
  const prototypes = [of.prototype, Object.getPrototypeOf(of.prototype) as object];
  const fields = prototypes.map((prototype) =>
    Object.entries(Object.getOwnPropertyDescriptors(prototype)).filter(([key]) => key !== "constructor"),
  );
  const known = fields.flat().map(([key]) => key);
  prototypes.forEach((prototype, i) => {
    for (const [key, field] of fields[i]!) {
      const descriptor = readOnly(field, () => refuse(key, known, instead));
      Object.defineProperty(prototype, key, { ...descriptor, enumerable: false });
    }
  });
  Object.setPrototypeOf(prototypes[1]!, lastPrototype(known, instead));
}

/** An object with these fields, getters included, that cannot be assigned. */
export function withoutAssignments(fields: object, instead: Instead): object {
  const descriptors = Object.entries(Object.getOwnPropertyDescriptors(fields));
  const known = descriptors.map(([key]) => key);
  const guarded = descriptors.map(([key, field]) => [key, readOnly(field, () => refuse(key, known, instead))] as const);
  return Object.create(lastPrototype(known, instead), Object.fromEntries(guarded)) as object;
}

/**
 * The same object, of which only the fields `writable` can be assigned. `inner` names an object inside it whose fields
 * people look for here.
 */
export function assignOnly<T extends object>(
  where: string,
  object: T,
  writable: readonly string[],
  inner?: { readonly fields: readonly string[]; readonly place: string },
): T {
  const refuseField = (key: string): never => {
    const choices = writable.map((field) => `${where}.${field}`).join(", ");
    if (key in object)
      throw new ContextError(`${where}.${key} cannot be assigned.${choices && ` These can: ${choices}.`}`);
    const near = nearest(key, [...writable, ...(inner?.fields ?? [])]);
    const meant = near && `${writable.includes(near) ? where : inner!.place}.${near}`;
    const advice = meant ? ` Did you mean ${meant}?` : choices && ` These can be assigned: ${choices}.`;
    throw new ContextError(`${where} has no field \`${key}\` to assign.${advice}`);
  };
  return new Proxy(object, {
    set: (target, key, value) =>
      typeof key === "symbol" || writable.includes(key) ? Reflect.set(target, key, value) : refuseField(key),
  });
}
