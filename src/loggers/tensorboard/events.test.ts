import { expect, it } from "vitest";
import { histogram, type ImageMedia } from "../../core/media.ts";
import {
  ScalarEvents,
  fileVersion,
  histogramEvent,
  imageEvent,
  sessionEndInfo,
  sessionStart,
  sessionStartInfo,
  textEvent,
} from "./events.ts";
import { RecordBuffer } from "./record.ts";

// Events byte for byte as TensorBoard's own protocol buffers encode them (tensorboard 2.21, SerializeToString).

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

// Hyperparameters byte for byte as TensorBoard's own protocol buffers encode them (tensorboard 2.21), and odd values.

it("encodes a session's start and end", () => {
  expect(hex(sessionStartInfo(moment, { lr: 0.5 }))).toBe(
    "09000000000000f83f10032a530a510a1c5f68706172616d735f2f73657373696f6e5f73746172745f696e666f42060801120212004a290a" +
      "270a0768706172616d73121c1a1a0a0f0a026c72120911000000000000e03f29000000000000f83f",
  );
  expect(hex(sessionEndInfo(moment, "success"))).toBe(
    "09000000000000f83f10032a420a400a1a5f68706172616d735f2f73657373696f6e5f656e645f696e666f42060801120212004a1a0a180a" +
      "0768706172616d73120d220b080111000000000000f83f",
  );
});

it("makes single values of what is none", () => {
  const nested = { optimizer: { betas: [0.9, 0.999], amsgrad: true }, patience: null, most: Infinity };
  const flat = { "optimizer.betas": "[0.9,0.999]", "optimizer.amsgrad": true, most: "Infinity" };
  expect(hex(sessionStartInfo(moment, nested))).toBe(hex(sessionStartInfo(moment, flat)));
});

// Scalars byte for byte as TensorBoard's own protocol buffers encode them (tensorboard 2.21), and the buffer they go to.

const payload = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(12, -4)).toString("hex");

const golden = "09000000000000f83f10ac022a1e0a0b0a046c6f7373150000003f0a0f0a0876616c2f6c6f7373150000c07f";

it("encodes one step's scalars as one event", () => {
  const buffer = new RecordBuffer(8);
  const events = new ScalarEvents();
  events.append(buffer, 1.5, 300, { loss: 0.5, "val/loss": NaN });
  expect(payload(buffer.take())).toBe(golden);
  // The tags are known now.
  events.append(buffer, 1.5, 300, { loss: 0.5, "val/loss": NaN });
  expect(payload(buffer.take())).toBe(golden);
});

it("forgets nothing of a longer event in a shorter one", () => {
  const buffer = new RecordBuffer();
  const events = new ScalarEvents();
  events.append(buffer, 9, 2 ** 40, Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`metric/${i}`, i])));
  buffer.take();
  events.append(buffer, 1.5, 300, { loss: 0.5, "val/loss": NaN });
  expect(payload(buffer.take())).toBe(golden);
});

it("takes long tags, and writes an event without values for no scalars", () => {
  const buffer = new RecordBuffer();
  const events = new ScalarEvents();
  events.append(buffer, 1.5, 300, {});
  // Its time, its step and an empty summary.
  expect(payload(buffer.take())).toBe("09000000000000f83f10ac022a00");
  const tag = "é".repeat(200);
  events.append(buffer, 1, 1, { [tag]: 1 });
  const text = Buffer.from(buffer.take());
  expect(text.includes(tag)).toBe(true);
  // Value: 400 bytes of tag with a head of 3, and 5 for the number.
  expect(text.includes(Buffer.of(0x0a, 0x98, 0x03, 0x0a, 0x90, 0x03))).toBe(true);
});
