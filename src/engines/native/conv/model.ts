// The ONNX model of a convolution whose window slides. Where onnxruntime has kernels that keep blocks of channels side by
// side, it is those: images are reordered on the way in and out, which costs a tenth of the convolution.
import { attribute, attributes, type Model, model, numbers, operation } from "../model.ts";
import type { Convolution } from "./convolution.ts";

const BLOCKS = "com.microsoft.nchwc";

/** With that many channels in a block; 0 where there are none. */
export function convolutionModel(c: Convolution, block: number): Model {
  const shapes = {
    left: [c.batch, c.channels, ...c.size],
    right: [c.outputs, c.channels, ...c.window],
    out: [c.batch, c.outputs, ...c.places],
  };
  const how = [
    attributes("kernel_shape", c.window),
    attributes("strides", c.strides),
    attributes("dilations", c.dilation),
    attributes("pads", [c.padding[0][0], c.padding[1][0], c.padding[0][1], c.padding[1][1]]),
    attribute("group", 1),
  ];
  if (!paysInBlocks(c, block)) return model(shapes, [operation("Conv", ["l", "r"], "o", how)]);
  const outputs = Math.ceil(c.outputs / block) * block;
  const isBlocked = c.channels >= block;
  const channels = isBlocked ? Math.ceil(c.channels / block) * block : c.channels;
  const reorder = isBlocked ? [operation("ReorderInput", ["l"], "blocks", [], BLOCKS)] : [];
  const inputs = isBlocked ? [channels / block, block] : [channels];
  const order = isBlocked ? [0, 2, 4, 5, 3, 1] : [0, 2, 3, 4, 1];
  return model(
    shapes,
    [
      ...reorder,
      operation("Pad", ["r", "zeros"], "padded"),
      operation("Reshape", ["padded", "apart"], "split"),
      operation("Transpose", ["split"], "turned", [attributes("perm", order)]),
      operation("Reshape", ["turned", "joined"], "kernels"),
      operation("Conv", [isBlocked ? "blocks" : "l", "kernels"], "made", how, BLOCKS),
      operation("ReorderOutput", ["made"], "o", [attribute("channels", c.outputs)], BLOCKS),
    ],
    [
      numbers("zeros", [0, 0, 0, 0, outputs - c.outputs, channels - c.channels, 0, 0]),
      numbers("apart", [outputs / block, block, ...inputs, ...c.window]),
      numbers("joined", [outputs, channels, ...c.window]),
    ],
  );
}

/** A kernel of one place is a plain product, and a block that is mostly zeros is work for nothing. */
function paysInBlocks({ channels, outputs, window }: Convolution, block: number): boolean {
  if (block === 0 || window[0] * window[1] === 1) return false;
  if (channels < block) return outputs >= block;
  // The reordering moves four channels at a time.
  return channels % 4 === 0;
}

/** Numbers in order, reordered: the second of the first channel follows the first of all channels of its block. */
export const blockProbe = (): Model =>
  model({ left: [1, 32, 1, 2], right: [1], out: [1, 32, 1, 2] }, [operation("ReorderInput", ["l"], "o", [], BLOCKS)]);
