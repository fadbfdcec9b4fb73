// Texts and images in a log: which there are at which step, and where they are.
import type { RunPage } from "../../wire.ts";

export type MediaPlace =
  | { readonly kind: "image"; readonly step: number; readonly file: string }
  /** Where the line of its record is in the log. */
  | { readonly kind: "text"; readonly step: number; readonly at: number; readonly length: number };

/** Names and steps that are remembered. A log of more than this is shown in part. */
const MOST = 100_000;

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

  /** The last one of a step. */
  find(name: string, step: number): MediaPlace | undefined {
    return this.#byName.get(name)?.findLast((place) => place.step === step);
  }
}
