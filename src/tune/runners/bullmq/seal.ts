// Signatures of what goes through Redis, with a key that the study and its workers share. Each signature covers where the
// text belongs (channel, key or job), so that a copy of it counts nowhere else.
import { builtin } from "../../../platform/builtin.ts";

type Crypto = ReturnType<typeof process.getBuiltinModule<"node:crypto">>;

const SIGNED = /^([0-9a-f]{64}) (.*)$/s;

export const KEY_VARIABLE = "HOOKLINE_QUEUE_KEY";

export type Opened = { readonly text: string } | { readonly wrong: "unsigned" | "keyless" };

export class Seal {
  readonly #key: string | undefined;
  readonly #crypto = builtin<Crypto>("bullmq", "node:crypto");

  /** @param key undefined: nothing is signed */
  constructor(key: string | undefined) {
    this.#key = key;
  }

  sign(place: string, text: string): string {
    return this.#key === undefined ? text : `${this.#mac(place, text).toString("hex")} ${text}`;
  }

  /** The text that was signed, or why it cannot be trusted. */
  open(place: string, sealed: string): Opened {
    const [, mac, text] = SIGNED.exec(sealed) ?? [];
    if (this.#key === undefined) return text === undefined ? { text: sealed } : { wrong: "keyless" };
    if (text === undefined) return { wrong: "unsigned" };
    const isOurs = this.#crypto.timingSafeEqual(Buffer.from(mac!, "hex"), this.#mac(place, text));
    return isOurs ? { text } : { wrong: "unsigned" };
  }

  #mac(place: string, text: string): Buffer {
    return this.#crypto.createHmac("sha256", this.#key!).update(`${place}\0${text}`).digest();
  }
}
