// What every backend that sends must keep: each record arrives once, in order, whatever the network does.
import { expect, it, onTestFinished } from "vitest";
import type { LoggerBackend } from "../../src/loggers/backend.ts";
import { downHalfOfTheTime, type Fault, type FaultyServer } from "./queue-faults.ts";
import { ending, facts, logSteps, range, temporaryFolder } from "./queue-runs.ts";

/** Far more than it takes: a busy machine may need several times as long. */
const AT_LAST = 60_000;

/** A service and its backend, as the suite needs them. */
export interface Service<S extends FaultyServer, O extends object> {
  readonly name: string;
  readonly serve: () => Promise<S>;
  readonly backendFor: (
    server: S,
    options?: O & { readonly timeout?: number },
  ) => { readonly backend: LoggerBackend; readonly warnings: string[] };
  /** The steps that have arrived, of the first run or the second; undefined while there is no such run. */
  readonly steps: (server: S, run?: 0 | 1) => readonly unknown[] | undefined;
  /** What was wrong with requests, then how each run ended. */
  readonly outcome: (server: S) => readonly string[];
  /** Of one run that ended well, and of another one after it that failed. */
  readonly well: string;
  readonly failed: string;
  /** Options with which a run makes every kind of request. */
  readonly faultyOptions: O;
  /** The faults that it can meet. */
  readonly faults: readonly Fault[];
  /** How many kinds of request a run makes. */
  readonly kinds: { readonly least: number; readonly most: number };
  /** More requests than this bring 10⁴ steps; where it is not said, any number may. */
  readonly leastCalls?: number;
  /** What is wrong while nothing can be sent. */
  readonly outage: Fault;
  /** Another run of the same directory. */
  readonly secondId: string;
}

/** A server that is closed with the test. */
export async function served<S extends FaultyServer>(start: () => Promise<S>): Promise<S> {
  const server = await start();
  onTestFinished(() => server.close());
  return server;
}

export function arrivesOnce<S extends FaultyServer, O extends object>(service: Service<S, O>): void {
  const { name, serve, backendFor, steps, outcome, well, faults, outage, secondId } = service;

  /** A run waits a few seconds for its service at its end, which may be too few for a busy machine. */
  async function arrived(backend: LoggerBackend, server: S, count: number, run?: 0 | 1): Promise<void> {
    await backend.flush?.();
    await expect.poll(() => steps(server, run)?.length, { timeout: AT_LAST }).toBe(count);
  }

  it(
    "brings 10⁴ steps through a server that is down half of the time: each once, in order",
    { timeout: 3 * AT_LAST },
    async () => {
      const server = await serve();
      server.fault = downHalfOfTheTime;
      const { backend } = backendFor(server);
      await backend.open(facts({ dir: temporaryFolder() }));
      await logSteps(backend, 1, 10_000);
      await backend.flush?.();
      await expect.poll(() => steps(server)?.length, { timeout: AT_LAST }).toBe(10_000);
      await backend.close(ending(10_000));
      expect(steps(server)).toEqual(range(1, 10_000));
      expect(outcome(server)).toEqual([well]);
      if (service.leastCalls !== undefined) expect(server.calls.length).toBeGreaterThan(service.leastCalls);
    },
  );

  it.for(faults)(
    "nothing comes twice and nothing is missing when every kind of request meets: %s",
    { timeout: 2 * AT_LAST },
    async (fault) => {
      const server = await serve();
      // The first of each, and the third: where parameters go the way of metrics, those are met as well.
      const met = new Map<string, number>();
      server.fault = (_count, path) => {
        met.set(path, (met.get(path) ?? 0) + 1);
        return [1, 3].includes(met.get(path)!) ? fault : "ok";
      };
      const { backend } = backendFor(server, { ...service.faultyOptions, timeout: 200 });
      await backend.open(facts({ dir: temporaryFolder() }));
      await logSteps(backend, 1, 50);
      await arrived(backend, server, 50);
      await backend.close(ending(50));
      expect(steps(server)).toEqual(range(1, 50));
      expect(outcome(server)).toEqual([well]);
      expect(met.size).toBeGreaterThanOrEqual(service.kinds.least);
      expect(met.size).toBeLessThanOrEqual(service.kinds.most);
    },
  );

  it(
    "keeps what could not be sent, and sends it at the next start, before what is new",
    { timeout: 3 * AT_LAST },
    async () => {
      const server = await serve();
      const dir = temporaryFolder();
      server.fault = () => outage;
      const first = backendFor(server);
      await first.backend.open(facts({ dir }));
      await logSteps(first.backend, 1, 100);
      // It ends by itself, though nothing can be sent.
      await first.backend.close(ending(100, "interrupted"));
      expect(first.warnings.at(-1)).toMatch(new RegExp(`101 records could not be sent .* wait in .*${name}`));
      server.fault = () => "ok";
      // Goes on from step 90, so that ten steps come again.
      const second = backendFor(server);
      await second.backend.open(facts({ dir, resumedAt: 90 }));
      await logSteps(second.backend, 91, 150);
      await arrived(second.backend, server, 150);
      await second.backend.close(ending(150));
      expect(steps(server)).toEqual(range(1, 150));
      expect(outcome(server)).toEqual([well]);
      expect(second.warnings).toEqual([]);
      const third = backendFor(server);
      await third.backend.open(facts({ dir, id: secondId }));
      await logSteps(third.backend, 1, 10);
      await arrived(third.backend, server, 10, 1);
      await third.backend.close(ending(10, "error"));
      expect(steps(server, 1)).toEqual(range(1, 10));
      expect(outcome(server)).toEqual([well, service.failed]);
    },
  );
}
