// A store under test as the player sees it: clients reach it, and where it can be it is killed, or its disk filled. Nobody here knows what kind of
// store it is.
import type { Answered, Asked, Delivery, Promises } from '../history.ts';

export interface OpenWatch {
  /** Has the store say, in the stream, how far it has delivered. */
  bookmark(): Promise<void>;
  close(): void;
}

/** One client's way to the store; of a store with replicas, to one of them. */
export interface Reach {
  ask(asked: Asked): Promise<Answered>;
  watch(
    prefix: string,
    afterRevision: number,
    deliver: (delivery: Delivery) => void,
  ): Promise<OpenWatch | { compactedRevision: number }>;
}

/**
 * Moments which a blow at any time seldom meets. `after a write`: the next write has succeeded and is not answered. `after a host write`: the API server
 * has taken it, and the replica has not heard of it. `before a beat`: behind a write, and before the others hear how far the replica has read.
 */
export type Moment = 'now' | 'after a write' | 'after a host write' | 'before a beat';
/** Of two replicas; absent = the first. */
export type Whom = 'other' | 'both';

/** An empty store that runs. */
export interface Stage {
  reach(client: number): Reach;
  /** As kill -9: whatever was asked has no answer. Ends when the store serves again what it kept. */
  kill?(moment?: Moment, whom?: Whom): Promise<void>;
  /** As SIGSTOP: it stands still, and others go on. Ends when it serves again. */
  freeze?(forMs: number, moment?: Moment): Promise<void>;
  /** The disk has no room for another write, or has it again. */
  fill?(isFull: boolean): Promise<void>;
  /** The way between the store and its log breaks, and the log forgets what was before. */
  cut?(): Promise<void>;
  /** Of two replicas, the other hears everything so much later for as long. */
  lag?(forMs: number): Promise<void>;
  /** What an operator deletes: records whose writer was killed before anybody could say that it had written them. How many there were. */
  tidy?(): Promise<number>;
  /** Of replicas: how often one has shown a record that none of its watches had heard of, so that all of them ended. */
  late?(): Promise<number>;
  close(): Promise<void>;
}

export interface Subject {
  readonly name: string;
  readonly promises: Promises;
  open(): Promise<Stage>;
  /** Ends what several stages shared. */
  stop(): Promise<void>;
}
