// Sees what others write to a stream, until it is told to stop. Whatever happened meanwhile, the stream is then as it was.

export type Write = (chunk: string | Uint8Array, ...rest: unknown[]) => boolean;

export interface Writable {
  write: Write;
}

/**
 * Puts `change` before every write: it gets the text and returns what is written instead. Returns the undo, which leaves
 * a later patch of someone else's in place.
 */
export function patchWrite(stream: Writable, change: (text: string) => string): { original: Write; undo: () => void } {
  const own = Object.getOwnPropertyDescriptor(stream, "write");
  const original = stream.write;
  const decoder = new TextDecoder();
  let active = true;
  const patched: Write = function write(chunk, ...rest) {
    const [encoding] = rest;
    const plain = typeof chunk !== "string" || typeof encoding !== "string" || /^utf-?8$/i.test(encoding);
    if (!active || !plain) return original.call(stream, chunk, ...rest);
    let text = chunk;
    if (typeof text !== "string") text = decoder.decode(text, { stream: true });
    return original.call(stream, change(text), ...rest);
  };
  stream.write = patched;
  return {
    original: (...args) => original.apply(stream, args),
    undo() {
      active = false;
      if (stream.write !== patched) return;
      if (own) Object.defineProperty(stream, "write", own);
      else Reflect.deleteProperty(stream, "write");
    },
  };
}
