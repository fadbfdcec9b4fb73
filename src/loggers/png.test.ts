// PNG files of every kind, read by a small decoder that shares nothing with the encoder but the format.
import { crc32 } from "node:zlib";
import { inflateSync } from "node:zlib";
import { expect, it } from "vitest";
import type { ImageMedia } from "../core/media.ts";
import { encodePng, store } from "./png.ts";

function decode(png: Buffer): { width: number; height: number; colour: number; pixels: number[] } {
  expect(png.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < png.length;) {
    const size = png.readUInt32BE(at);
    const content = png.subarray(at + 8, at + 8 + size);
    expect(png.readUInt32BE(at + 8 + size)).toBe(crc32(png.subarray(at + 4, at + 8 + size)));
    chunks.set(png.toString("latin1", at + 4, at + 8), content);
    at += 12 + size;
  }
  expect([...chunks.keys()]).toEqual(["IHDR", "IDAT", "IEND"]);
  const header = chunks.get("IHDR")!;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  expect([...header.subarray(8)]).toEqual([8, header[9], 0, 0, 0]);
  const rows = inflateSync(chunks.get("IDAT")!);
  const row = rows.length / height;
  const pixels: number[] = [];
  for (let y = 0; y < height; y++) {
    expect(rows[y * row]).toBe(0);
    pixels.push(...rows.subarray(y * row + 1, (y + 1) * row));
  }
  return { width, height, colour: header[9]!, pixels };
}

const image = (width: number, height: number, channels: 1 | 3 | 4): ImageMedia => {
  const pixels = Uint8Array.from({ length: width * height * channels }, (_, i) => (i * 37) % 256);
  return { kind: "image", width, height, channels, pixels };
};

it.each([
  [1, 0],
  [3, 2],
  [4, 6],
] as const)("keeps every pixel of %i channels", async (channels, colour) => {
  const media = image(7, 5, channels);
  const expected = { width: 7, height: 5, colour, pixels: [...media.pixels] };
  expect(decode(Buffer.from(await encodePng(media)))).toEqual(expected);
  expect(decode(Buffer.from(await encodePng(media, store)))).toEqual(expected);
});

it("stores more than one block where there is no zlib", async () => {
  const media = image(300, 200, 3);
  const png = Buffer.from(await encodePng(media, store));
  expect(png.length).toBeGreaterThan(media.pixels.length);
  expect(Buffer.from(decode(png).pixels).equals(media.pixels)).toBe(true);
  expect(inflateSync(store(new Uint8Array())).length).toBe(0);
  expect(inflateSync(store(new Uint8Array(0xffff))).length).toBe(0xffff);
});
