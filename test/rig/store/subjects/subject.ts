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

/** `after a write`: when the next write has succeeded and before it is answered, which a kill at any moment seldom meets. */
export type KillMoment = 'now' | 'after a write';

/** An empty store that runs. */
export interface Stage {
  reach(client: number): Reach;
  /** As kill -9: whatever was asked has no answer. Ends when the store serves again what it kept. */
  kill?(moment?: KillMoment): Promise<void>;
  /** As SIGSTOP: it stands still, and others go on. Ends when it serves again. */
  freeze?(forMs: number): Promise<void>;
  /** The disk has no room for another write, or has it again. */
  fill?(isFull: boolean): Promise<void>;
  /** The way between the store and its log breaks, and the log forgets what was before. */
  cut?(): Promise<void>;
  close(): Promise<void>;
}

export interface Subject {
  readonly name: string;
  readonly promises: Promises;
  open(): Promise<Stage>;
  /** Ends what several stages shared. */
  stop(): Promise<void>;
}
