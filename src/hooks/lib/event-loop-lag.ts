// How late timers are: for so long nothing else (signals, sockets, a page's clicks) was heard.

const EVERY_MS = 100;

export interface LagWatch {
  /** The worst delay in milliseconds since the last look. */
  read(): number;
  stop(): void;
}

export function watchLag(): LagWatch {
  let worst = 0;
  let last = performance.now();
  const look = (): void => {
    const now = performance.now();
    worst = Math.max(worst, now - last - EVERY_MS);
    last = now;
  };
  const timer = setInterval(look, EVERY_MS);
  // In Node a timer is an object that can let the program end; in browsers it is a number.
  (timer as { unref?(): void }).unref?.();
  return {
    read() {
      // One that is overdue now has not been counted yet.
      const lag = Math.max(worst, performance.now() - last - EVERY_MS);
      worst = 0;
      return lag;
    },
    stop: () => clearInterval(timer),
  };
}
