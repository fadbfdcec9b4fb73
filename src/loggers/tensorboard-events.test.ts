// Events byte for byte as TensorBoard's own protocol buffers encode them (tensorboard 2.21, SerializeToString).
import { expect, it } from "vitest";
import { histogram, type ImageMedia } from "../core/media.ts";
import { fileVersion, histogramEvent, imageEvent, sessionStart, textEvent } from "./tensorboard-events.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const moment = { seconds: 1.5, step: 3 };

it("begins files and parts", () => {
  expect(hex(fileVersion(1.5))).toBe("09000000000000f83f1a0d627261696e2e4576656e743a32");
  expect(hex(sessionStart({ seconds: 1.5, step: 241 }))).toBe("09000000000000f83f10f1013a020801");
});

it("encodes a histogram as rows of edges and counts", () => {
  const media = histogram({ edges: [-1, 0, 2.5], counts: [4, 6] });
  expect(hex(histogramEvent(moment, "w", media))).toBe(
    "09000000000000f83f10032a570a550a0177423e0802120812020802120208032230000000000000f0bf0000000000000000000000000000" +
      "10400000000000000000000000000000044000000000000018404a100a0c0a0a686973746f6772616d732002",
  );
});

it("encodes a text", () => {
  expect(hex(textEvent(moment, "t", "grüße"))).toBe(
    "09000000000000f83f10032a200a1e0a0174420d0807120042076772c3bcc39f654a0a0a060a04746578742002",
  );
});

it("encodes an image", () => {
  const image: ImageMedia = { kind: "image", width: 5, height: 2, channels: 3, pixels: new Uint8Array(30) };
  expect(hex(imageEvent(moment, "i", image, Uint8Array.of(1, 2)))).toBe(
    "09000000000000f83f10032a110a0f0a0169220a08021005180322020102",
  );
});
