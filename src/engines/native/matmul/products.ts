// Matrix products by onnxruntime, on the engine's memory: nothing is copied on the way in or out.
import { sizeOf } from "../../../core/arrays.ts";
import { describeContraction, type CompiledContraction, type Contraction } from "../contraction.ts";
import { LEFT, OUT, productModel, RIGHT, shapesOf } from "./onnx.ts";
import { loadOnnxruntime, type Onnxruntime, type Tensor } from "./onnxruntime.ts";

/** Where the numbers lie: a plain buffer, another one once memory has grown. */
interface Numbers {
  readonly plain: ArrayBuffer;
}

/** Of one shape: buffers take turns, so the same few addresses come again. */
const MOST_TENSORS = 64;

/** Compiles each kind of product once, for all programs of an engine on one thread. */
export class Products {
  readonly #runtime: Onnxruntime;
  readonly #memory: Numbers;
  readonly #compiled = new Map<string, CompiledContraction>();
  readonly #sessions: { dispose(): void }[] = [];

  constructor(memory: Numbers) {
    this.#runtime = loadOnnxruntime();
    this.#memory = memory;
  }

  compile(contraction: Contraction): CompiledContraction {
    const key = describeContraction(contraction);
    let compiled = this.#compiled.get(key);
    if (!compiled) {
      compiled = this.#new(contraction);
      this.#compiled.set(key, compiled);
    }
    return compiled;
  }

  #new(contraction: Contraction): CompiledContraction {
    const session = this.#runtime.session(productModel(contraction));
    this.#sessions.push(session);
    const shapes = shapesOf(contraction);
    const left = this.#tensors(shapes.left);
    const right = this.#tensors(shapes.right);
    const out = this.#tensors(shapes.out);
    const feeds: Record<string, Tensor> = {};
    const fetches: Record<string, Tensor> = {};
    return {
      run(leftAt, rightAt, outAt) {
        feeds[LEFT] = left(leftAt);
        feeds[RIGHT] = right(rightAt);
        fetches[OUT] = out(outAt);
        session.run(feeds, fetches, {});
      },
    };
  }

  /** Tensors of one shape by address. */
  #tensors(shape: readonly number[]): (at: number) => Tensor {
    const known = new Map<number, Tensor>();
    const length = sizeOf(shape);
    const memory = this.#memory;
    let buffer = memory.plain;
    return (at) => {
      const { plain } = memory;
      // Memory that has grown is another buffer.
      if (buffer !== plain || known.size > MOST_TENSORS) {
        known.clear();
        buffer = plain;
      }
      let tensor = known.get(at);
      if (!tensor) {
        tensor = this.#runtime.tensor(new Float32Array(plain, at, length), shape);
        known.set(at, tensor);
      }
      return tensor;
    };
  }

  close(): void {
    for (const session of this.#sessions.splice(0)) session.dispose();
    this.#compiled.clear();
  }
}
