// Names of checkpoints from a template: `epoch_{epoch}_loss_{val/loss:.2f}`. The result is made safe as a file name.
import { OptionError } from "../core/errors.ts";
import { didYouMean, monitorValue } from "../core/names.ts";
import { sanitizeName } from "../core/safe-name.ts";

export interface NameTemplateOptions {
  /** `{val/loss:.2f}` becomes `val_loss=0.31` instead of `0.31`; default true. */
  readonly autoInsertMetricName?: boolean;
}

interface Field {
  readonly name: string;
  readonly format: (value: number) => string;
}

/** A template, checked when it is constructed. */
export class NameTemplate {
  readonly #parts: readonly (string | Field)[];
  readonly #insertNames: boolean;

  constructor(template: string, { autoInsertMetricName = true }: NameTemplateOptions = {}) {
    if (template.trim() === "") throw new OptionError("Expected a file name template, got an empty text");
    const pieces = template.split(/(\{[^{}]*\})/);
    this.#parts = pieces.map((piece) =>
      /^\{.*\}$/.test(piece) ? parseField(template, piece) : plainText(template, piece),
    );
    this.#insertNames = autoInsertMetricName;
  }

  /** The name for these values. For an unknown metric it throws an OptionError that lists the known ones. */
  render(values: {
    readonly step: number;
    readonly epoch: number;
    readonly metrics: Readonly<Record<string, number>>;
  }): string {
    const known = { ...values.metrics, step: values.step, epoch: values.epoch };
    const rendered = this.#parts.map((part) => {
      if (typeof part === "string") return part;
      const value = monitorValue(known, part.name);
      if (value === undefined) {
        const names = Object.keys(known);
        throw new OptionError(
          `The file name template has {${part.name}}, but there is no such metric.${didYouMean(part.name, names)} There is: ${names.join(", ")}.`,
        );
      }
      return this.#insertNames ? `${part.name}=${part.format(value)}` : part.format(value);
    });
    return sanitizeName(rendered.join(""));
  }
}

function plainText(template: string, piece: string): string {
  if (!/[{}]/.test(piece)) return piece;
  throw new OptionError(`The file name template ${JSON.stringify(template)} has a brace without its partner.`);
}

/** `{name}` or `{name:format}`, with Python's formats: `d`, `05d`, `.2f`, `.3e`, `.4g`. */
function parseField(template: string, piece: string): Field {
  const [, name, zero, width, precision, type] = /^\{([^:]+)(?::(0)?(\d+)?(?:\.(\d+))?([defg])?)?\}$/.exec(piece) ?? [];
  if (name === undefined || Number(width ?? 0) > 20 || Number(precision ?? 0) > 20) {
    throw new OptionError(
      `The file name template ${JSON.stringify(template)} has ${piece}: expected {metric} or {metric:format} with a format like d, 05d, .2f, .3e or .4g.`,
    );
  }
  const digits = precision === undefined ? undefined : Number(precision);
  const toText = (value: number): string => {
    if (!Number.isFinite(value)) return String(value);
    if (type === "d") return String(Math.trunc(value));
    if (type === "f") return value.toFixed(digits ?? 6);
    if (type === "e") return value.toExponential(digits ?? 6);
    if (type === "g" || digits !== undefined) return String(Number(value.toPrecision(Math.max(1, digits ?? 6))));
    return String(value);
  };
  return { name, format: (value) => toText(value).padStart(Number(width ?? 0), zero ?? "_") };
}
