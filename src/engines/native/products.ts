// Matrix products by onnxruntime, on the engine's memory: nothing is copied on the way in or out.
import { sizeOf } from "../../core/arrays.ts";
import type { Blas } from "./blas.ts";
import { type CompiledContraction, type Contraction, describeContraction } from "./plan/contract.ts";
import type { Convolution } from "./conv/convolution.ts";
import { blockProbe, convolutionModel } from "./conv/model.ts";
import { attribute, LEFT, type Model, model, numbers, operation, OUT, RIGHT } from "./model.ts";
import { loadOnnxruntime, type Numbers, type Onnxruntime, type Session } from "./onnxruntime.ts";

/** Compiles each kind of product once, for all programs of an engine on one thread. */
export class Products {
  readonly #runtime: Onnxruntime;
  readonly #memory: Numbers;
  /** In place of onnxruntime for products. */
  readonly #blas: Blas | undefined;
  readonly #compiled = new Map<string, Session>();

  constructor(memory: Numbers, blas?: Blas) {
    this.#runtime = loadOnnxruntime();
    this.#memory = memory;
    this.#blas = blas;
  }

  compile(contraction: Contraction): CompiledContraction {
    return this.#known(describeContraction(contraction), () =>
      this.#blas
        ? this.#blas.session(contraction, this.#memory)
        : this.#runtime.session(productModel(contraction), this.#memory),
    );
  }

  /** The image is the left side, the kernel the right one. */
  convolve(convolution: Convolution): CompiledContraction {
    return this.#known(JSON.stringify(convolution), () =>
      this.#runtime.session(convolutionModel(convolution, this.#channelsInBlock()), this.#memory),
    );
  }

  #known(key: string, create: () => Session): CompiledContraction {
    let compiled = this.#compiled.get(key);
    if (!compiled) {
      compiled = create();
      this.#compiled.set(key, compiled);
    }
    return compiled;
  }

  /** 0 where onnxruntime has no kernels for blocks of channels: which it has depends on the processor. */
  #channelsInBlock(): number {
    blockSize ??= measuredBlock(this.#runtime);
    return blockSize;
  }

  close(): void {
    for (const session of this.#compiled.values()) session.dispose();
    this.#compiled.clear();
  }
}

/** Of this processor, once it is known. */
let blockSize: number | undefined;

function measuredBlock(runtime: Onnxruntime): number {
  const { bytes, shapes } = blockProbe();
  const length = sizeOf(shapes.left);
  // The numbers, one that counts for nothing, and what they become.
  const plain = new ArrayBuffer((2 * length + 1) * 4);
  const [numbers, made] = [new Float32Array(plain, 0, length), new Float32Array(plain, (length + 1) * 4)];
  numbers.set(numbers.map((_, i) => i));
  try {
    const session = runtime.session({ bytes, shapes }, { plain });
    session.run(0, length * 4, (length + 1) * 4);
    session.dispose();
    return Math.max(made.indexOf(1), 0);
  } catch {
    return 0;
  }
}

// The ONNX model of one matrix product.

function productModel(c: Contraction): Model {
  const batch = c.batch === 1 ? [] : [c.batch];
  const shapes = {
    left: [...batch, ...(c.leftTransposed ? [c.inner, c.among?.rows ?? c.rows] : [c.rows, c.inner])],
    right: [...batch, ...(c.rightTransposed ? [c.columns, c.inner] : [c.inner, c.columns])],
    out: [...batch, c.rows, c.columns],
  };
  const sides = [attribute("transA", Number(c.leftTransposed)), attribute("transB", Number(c.rightTransposed))];
  const product = (left: string) => operation("FusedMatMul", [left, RIGHT], OUT, sides, "com.microsoft");
  if (!c.among) return model(shapes, [product(LEFT)]);
  // Copied first, which is little beside the product.
  const { begin } = c.among;
  const some = operation("Slice", [LEFT, "begin", "end", "axis"], "some");
  const range = [numbers("begin", [begin]), numbers("end", [begin + c.rows]), numbers("axis", [1])];
  return model(shapes, [some, product("some")], range);
}
