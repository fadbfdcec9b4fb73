// How wide an element is on the screen, for drawings whose words must be read at every width.
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** @param least narrower elements are scrolled */
export function useWidth(least: number): { readonly ref: RefObject<HTMLDivElement | null>; readonly width: number } {
  const ref = useRef<HTMLDivElement>(null);
  const width = useSignal(least);
  useLayoutEffect(() => {
    const measure = (): void => void (width.value = Math.max(least, ref.current!.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(ref.current!);
    return () => observer.disconnect();
  }, [least]);
  return { ref, width: width.value };
}
