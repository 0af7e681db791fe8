// The replicas whose heartbeat is heard. In: their records, as the stream of changes brings them. Out: those that live, and what they say.
import type { Clock } from '../../clock.ts';
import type { Sight } from './records/record-format.ts';

export interface LiveReplica {
  replica: string;
  /** Its words of itself. */
  about: string;
  heardMsAgo: number;
}

interface Heard {
  about: string;
  beat: number;
  /** Undefined of a version that did not tell it. */
  epoch: string | undefined;
  /** How far it had read; undefined as above. */
  reached: number | undefined;
  atMs: number;
  isBeating: boolean;
}

/** A replica that lives answers the first beat of another one at once; one that has ended never does. */
export const othersAnswerMs = 1_000;
/** Five heartbeats. */
const liveForMs = 10_000;

export class LiveReplicas {
  readonly #clock: Clock;
  readonly #heard = new Map<string, Heard>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `isBeating`: it was heard to write, and is not only there. */
  hear(
    { replica, about, beat, sight }: { replica: string; about: string; beat: number; sight?: Sight | undefined },
    { isBeating = false }: { isBeating?: boolean } = {},
  ): void {
    const { epoch, reached } = sight ?? {};
    this.#heard.set(replica, { about, beat, epoch, reached, atMs: this.#clock.now(), isBeating });
  }

  /** The last words of those that have written since the last whole list. */
  get beating(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#heard].flatMap(([replica, { about, isBeating }]) => (isBeating ? [[replica, about]] : [])),
    );
  }

  /** True if each that says how far it has read had read up to this version. */
  haveRead(version: number): boolean {
    return [...this.#heard.values()].every(({ reached = version }) => reached >= version);
  }

  has(replica: string): boolean {
    return this.#heard.has(replica);
  }

  clear(): void {
    this.#heard.clear();
  }

  /** The last beat of each, also of those that have ended. */
  get beats(): ReadonlyMap<string, number> {
    return new Map([...this.#heard].map(([replica, { beat }]) => [replica, beat]));
  }

  /** In which epoch each was last, also those that have ended. */
  get epochs(): ReadonlyMap<string, string | undefined> {
    return new Map([...this.#heard].map(([replica, { epoch }]) => [replica, epoch]));
  }

  /** The last words of each, also of those that have ended. */
  get words(): ReadonlyMap<string, string> {
    return new Map([...this.#heard].map(([replica, { about }]) => [replica, about]));
  }

  get live(): LiveReplica[] {
    const nowMs = this.#clock.now();
    return [...this.#heard]
      .map(([replica, { about, atMs }]) => ({ replica, about, heardMsAgo: nowMs - atMs }))
      .filter(({ heardMsAgo }) => heardMsAgo <= liveForMs)
      .sort((a, b) => (a.replica < b.replica ? -1 : 1));
  }
}
