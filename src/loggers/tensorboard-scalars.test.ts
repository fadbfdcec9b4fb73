// Scalars byte for byte as TensorBoard's own protocol buffers encode them (tensorboard 2.21), and the buffer they go to.
import { expect, it } from "vitest";
import { RecordBuffer } from "./formats/record.ts";
import { ScalarEvents } from "./tensorboard-scalars.ts";

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
