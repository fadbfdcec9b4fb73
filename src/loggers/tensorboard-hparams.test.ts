// Hyper-parameters byte for byte as TensorBoard's own protocol buffers encode them (tensorboard 2.21), and odd values.
import { expect, it } from "vitest";
import { sessionEndInfo, sessionStartInfo } from "./tensorboard-hparams.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const moment = { seconds: 1.5, step: 3 };

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
