// A cache of keys and values on the engine, whose rows are texts that grow. It has a few sizes only, each compiled once:
// short texts are cheap, and long ones move to a larger cache when they need it.
import type { HostArray } from "../../core/arrays.ts";
import type { DeviceTensors, ParamsView } from "../../core/inspection.ts";
import type { HostTensors } from "../../core/model.ts";
import type { LanguageModel } from "../model/language-model.ts";
import { type GenerationPrograms, programsOf } from "./programs.ts";

/** Slots of the smallest cache; each larger one has twice as many. */
const LEAST_CAPACITY = 256;
/** Prompts are computed in pieces of these sizes, padded behind. */
const PIECES = [16, 64, 256] as const;
const LONGEST_PIECE = 256;

export class CachedRows {
  readonly #model: LanguageModel;
  readonly #params: ParamsView;
  readonly #programs: GenerationPrograms;
  #cache: DeviceTensors | undefined;
  #rows = 0;
  #capacity = 0;

  constructor(model: LanguageModel, params: ParamsView) {
    this.#model = model;
    this.#params = params;
    this.#programs = programsOf(model);
  }

  get rows(): number {
    return this.#rows;
  }

  /**
   * Makes room for as many rows of at least `tokens` slots as `from` has: each begins as a copy of the row it names, or
   * empty for −1.
   */
  async fit(from: readonly number[], tokens: number): Promise<void> {
    const capacity = this.#capacityFor(tokens);
    const isSame = from.length === this.#rows && from.every((row, i) => row === i || row === -1);
    if (this.#cache && isSame && capacity <= this.#capacity) return;
    const wanted = isSame ? Math.max(capacity, this.#capacity) : capacity;
    if (this.#cache) {
      const rows = int32(
        from.map((row) => Math.max(row, 0)),
        [from.length],
      );
      await this.#compute(this.#programs.resized(wanted), { rows });
    } else this.#cache = this.#params.put(this.#empty(from.length, wanted));
    [this.#rows, this.#capacity] = [from.length, wanted];
  }

  /** Puts a prompt into a row. Its next token is in `next` and `logits`. */
  async prefill(row: number, ids: Int32Array): Promise<void> {
    for (let start = 0; start < ids.length; start += LONGEST_PIECE) {
      const piece = ids.subarray(start, start + LONGEST_PIECE);
      const size = Math.min(
        PIECES.find((each) => each >= piece.length)!,
        this.#model.architecture.contextLength,
      );
      const padded = new Int32Array(size);
      padded.set(piece);
      await this.#compute(this.#programs.prefill, {
        row: int32([row], [1]),
        ids: { data: padded, shape: [1, size] },
        start: int32([start], [1]),
        last: int32([piece.length - 1], [1]),
      });
    }
  }

  /** Adds a token to each row, in the slots of `starts`. */
  async step(ids: readonly number[], starts: readonly number[]): Promise<void> {
    await this.#compute(this.#programs.step, { ids: int32(ids, [ids.length, 1]), starts: int32(starts, [ids.length]) });
  }

  /** The most likely next token of each row. */
  async next(): Promise<ArrayLike<number>> {
    return (await this.#cache!.get("next")).data;
  }

  /** The logits of each row's next token. */
  async logits(): Promise<(row: number) => Float32Array> {
    const { data, shape } = await this.#cache!.get("logits");
    const size = shape[1]!;
    return (row) => (data as Float32Array).subarray(row * size, (row + 1) * size);
  }

  free(): void {
    this.#cache?.free();
    this.#cache = undefined;
    this.#rows = 0;
  }

  async #compute(program: GenerationPrograms["step"], inputs: HostTensors): Promise<void> {
    this.#cache = await this.#params.compute(program, this.#params.consume(this.#cache!), inputs);
  }

  #capacityFor(tokens: number): number {
    let capacity = LEAST_CAPACITY;
    while (capacity < tokens) capacity *= 2;
    return Math.min(capacity, this.#model.architecture.contextLength);
  }

  #empty(rows: number, capacity: number): HostTensors {
    const { layers, keyValueHeads, headDim, vocabularySize } = this.#model.architecture;
    const zeros = (...shape: number[]): HostArray => ({
      data: new Float32Array(shape.reduce((a, b) => a * b, 1)),
      shape,
    });
    // One array of zeros serves all: it is copied to the engine.
    const empty = zeros(rows, keyValueHeads, capacity, headDim);
    const keyValues = layers.flatMap((_, i) => [[`${i}.k`, empty] as const, [`${i}.v`, empty] as const]);
    return {
      ...Object.fromEntries(keyValues),
      next: { data: new Int32Array(rows), shape: [rows] },
      logits: zeros(rows, vocabularySize),
    };
  }
}

const int32 = (values: readonly number[], shape: readonly number[]): HostArray => ({
  data: Int32Array.from(values),
  shape,
});
