// What the processes of an experiment decide together, between its trainings. A process alone decides for itself.
import type { HostTensors } from "../core/model.ts";
import { findUnlikeStarts, type StartFacts } from "./compare-starts.ts";
import { encode, gatherMessages } from "./message.ts";
import type { Strategy } from "./strategy.ts";

/** What of a trainer is needed to give its parameters to others. */
interface Holder {
  stateDict(): Promise<HostTensors>;
  loadStateDict(tensors: HostTensors): Promise<unknown>;
}

export class Agreement {
  readonly strategy: Strategy;

  constructor(strategy: Strategy) {
    this.strategy = strategy;
  }

  /** Fails on all processes alike where they were not started alike. */
  async compareStarts(facts: StartFacts): Promise<void> {
    if (this.strategy.size === 1) return;
    const error = await findUnlikeStarts(this.strategy, facts);
    if (error) throw error;
  }

  /** What the first of those says that have something to say. It must be JSON. */
  async first<T>(own: T | undefined): Promise<T | undefined> {
    const { rank, size } = this.strategy;
    if (size === 1) return own;
    const bytes = own === undefined ? new Uint8Array(0) : encode(own);
    const lengths = new Float64Array(size);
    lengths[rank] = bytes.length;
    await this.strategy.allReduce(lengths);
    if (lengths.every((length) => length === 0)) return undefined;
    const [first] = await gatherMessages(this.strategy, bytes, [...lengths]);
    return first!.said as T;
  }

  /** Gives all of them the main one's parameters and buffers. */
  async shareParameters(holder: Holder): Promise<void> {
    if (this.strategy.size === 1) return;
    const shared: HostTensors = {};
    for (const [name, tensor] of Object.entries(await holder.stateDict())) {
      // A copy: what was given may be an engine's own memory.
      const data = tensor.data.slice();
      await this.strategy.broadcast(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
      shared[name] = { ...tensor, data };
    }
    await holder.loadStateDict(shared);
  }
}
