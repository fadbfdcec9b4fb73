// The undo of a registration.

/** Undo of a registration; works with `using`. */
export interface Disposer {
  (): void;
  [Symbol.dispose](): void;
}

export const disposer = (undo: () => void): Disposer => Object.assign(undo, { [Symbol.dispose]: undo });
