// Texts and images in a log: which there are at which step, and where they are.
import type { RunPage } from "../../wire.ts";

export type MediaPlace =
  | { readonly kind: "image"; readonly step: number; readonly file: string }
  /** Where the line of its record is in the log. */
  | { readonly kind: "text"; readonly step: number; readonly at: number; readonly length: number };

/** Names and steps that are remembered. A log of more than this is shown in part. */
const MOST = 100_000;

/** Characters of texts in one answer. */
const MOST_TEXT = 4_000_000;

/** Empty when the log was replaced meanwhile. */
function textIn(line: string, name: string): string {
  try {
    const value = (JSON.parse(line) as Readonly<Record<string, { readonly text?: unknown } | undefined>>)[name];
    return typeof value?.text === "string" ? value.text : "";
  } catch {
    return "";
  }
}

export class MediaList {
  readonly #byName = new Map<string, MediaPlace[]>();
  #count = 0;

  /** @param at where the line of the record begins in the log */
  note(record: Readonly<Record<string, unknown>>, at: number, length: number): void {
    const { step } = record;
    if (typeof step !== "number") return;
    for (const [name, value] of Object.entries(record)) {
      if (typeof value !== "object" || value === null || this.#count >= MOST) continue;
      const { text, image } = value as { text?: unknown; image?: unknown };
      if (typeof text === "string") this.#add(name, { kind: "text", step, at, length });
      else if (typeof image === "string") this.#add(name, { kind: "image", step, file: image });
    }
  }

  #add(name: string, place: MediaPlace): void {
    const places = this.#byName.get(name);
    if (places) places.push(place);
    else this.#byName.set(name, [place]);
    this.#count++;
  }

  list(): RunPage["media"] {
    return [...this.#byName].map(([name, places]) => ({
      name,
      kind: places[0]!.kind,
      steps: places.map(({ step }) => step),
    }));
  }

  /** The latest texts of a name in the order of steps. `read` gives the line at a place of the log. */
  texts(name: string, read: (at: number, length: number) => string): { step: number; text: string }[] {
    const texts: { step: number; text: string }[] = [];
    let characters = 0;
    for (const place of (this.#byName.get(name) ?? []).toReversed()) {
      if (place.kind !== "text" || characters > MOST_TEXT) continue;
      const text = textIn(read(place.at, place.length), name);
      characters += text.length;
      texts.push({ step: place.step, text });
    }
    return texts.toReversed();
  }

  /** The last one of a step. */
  find(name: string, step: number): MediaPlace | undefined {
    return this.#byName.get(name)?.findLast((place) => place.step === step);
  }
}
