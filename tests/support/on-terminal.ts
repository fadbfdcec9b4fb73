// A stdout that is a terminal, for the test at hand: what commands print to one.
import { onTestFinished } from "vitest";

export function onTerminal(columns: number): void {
  const { stdout } = process;
  for (const [name, value] of Object.entries({ isTTY: true, columns })) {
    const before = Object.getOwnPropertyDescriptor(stdout, name);
    Object.defineProperty(stdout, name, { value, configurable: true, writable: true });
    onTestFinished(() => {
      if (before) Object.defineProperty(stdout, name, before);
      else Reflect.deleteProperty(stdout, name);
    });
  }
}
