// Writes a history down while it is played, and lets blows fall at their question.
import type { Answered, Asked, History, Operation, Watched } from '../history.ts';
import type { Reach } from '../subjects/subject.ts';
import type { Blow } from './plan.ts';

/** Longer than most histories. */
const longestAmbushMs = 500;

export class Recorder {
  readonly history: History;
  /** The key of the last write that was acknowledged. */
  lastWritten: string | undefined;
  /** The key that somebody was the last to ask the removal of. */
  lastRemoved: string | undefined;
  readonly #latestMs: number;
  #moment = 0;
  #calls = 0;
  #returns = 0;
  #blows: Blow[];
  #strike: (blow: Blow) => void;

  constructor(options: { history: History; blows: readonly Blow[]; strike: (blow: Blow) => void }) {
    this.history = options.history;
    this.#blows = [...options.blows];
    this.#latestMs = Math.max(0, ...options.blows.map(({ laterMs }) => laterMs)) * 2;
    this.#strike = options.strike;
  }

  /** The key that has come and gone; undefined when none has in time. */
  flicker(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.flickered = resolve;
      setTimeout(() => resolve(undefined), longestAmbushMs);
    });
  }

  /** To be called with the key when it has come and gone. */
  flickered: (key: string) => void = () => undefined;

  fallsAt(at: 'flicker' | 'ambush'): void {
    this.#fall(at, Number.POSITIVE_INFINITY);
  }

  now(): number {
    return this.#moment++;
  }

  async ask(client: number, reach: Reach, asked: Asked): Promise<Answered> {
    const calledAt = this.now();
    if (asked.verb === 'write' && asked.value === undefined) this.lastRemoved = asked.key;
    const asking = reach.ask(asked);
    this.#fall('call', ++this.#calls);
    const answered = await asking;
    if (asked.verb === 'write' && answered.kind === 'written') this.lastWritten = asked.key;
    const operation: Operation = { client, asked, answered, calledAt, returnedAt: this.now() };
    this.history.operations.push(operation);
    this.#fall('return', ++this.#returns);
    if (asked.verb === 'write' && answered.kind === 'written') {
      this.#fall('written', this.#returns);
      if (asked.value === undefined) this.#fall('deleted', this.#returns);
    }
    return answered;
  }

  /** Nothing falls any more, when what was on its way has fallen. */
  async calm(): Promise<void> {
    this.#blows = [];
    await new Promise((resolve) => setTimeout(resolve, this.#latestMs));
  }

  /** The caller fills in what is delivered. */
  watched(watched: Omit<Watched, 'calledAt' | 'returnedAt' | 'deliveries'>): Watched {
    const one: Watched = { ...watched, calledAt: this.now(), returnedAt: Number.POSITIVE_INFINITY, deliveries: [] };
    this.history.watches.push(one);
    return one;
  }

  #fall(at: Blow['at'], nth: number): void {
    for (const blow of this.#blows.filter((one) => one.at === at && one.nth <= nth)) {
      this.#blows.splice(this.#blows.indexOf(blow), 1);
      if (blow.laterMs === 0) this.#strike(blow);
      else setTimeout(() => this.#strike(blow), blow.laterMs);
    }
  }
}
