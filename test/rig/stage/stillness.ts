// Tells when everything that can happen without a timer has happened. All sockets of a run are in memory and all expressions run in
// this process and files are read at once, so whatever goes on does so in this turn of the event loop, or waits in setImmediate for the next one.
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import promises from 'node:timers/promises';
import { promisify } from 'node:util';

/** Work shows itself as bytes on a socket; a turn without any may lie between two that have some. */
const silentTurns = 3;
/** TLS waits for its next turns in places of Node that nobody can count: between two signs of work there are ten of them at most. */
const silentTurnsOfTls = 30;
/** Work that goes on for so long without a timer is a loop without a pause. */
const mostTurns = 60_000;

const { setImmediate: atNextTurn, clearImmediate } = timers;
const { setImmediate: promised } = promises;
const waiting = new Set<NodeJS.Immediate>();
let users = 0;

type Run = (...given: unknown[]) => void;

function counted(run: Run, ...given: unknown[]): NodeJS.Immediate {
  const one = atNextTurn(() => {
    waiting.delete(one);
    run(...given);
  });
  waiting.add(one);
  return one;
}

function cleared(one: NodeJS.Immediate | undefined): void {
  if (one !== undefined) waiting.delete(one);
  clearImmediate(one);
}

const countedPromise = <T>(value?: T): Promise<T> => new Promise((resolve) => counted(resolve as Run, value));

function use(given: { setImmediate: unknown; clearImmediate: unknown; promised: unknown }): void {
  Object.assign(timers, { setImmediate: given.setImmediate, clearImmediate: given.clearImmediate });
  Object.assign(globalThis, { setImmediate: given.setImmediate, clearImmediate: given.clearImmediate });
  Object.assign(promises, { setImmediate: given.promised });
  syncBuiltinESMExports();
}

/** As long as a run lasts, everybody's setImmediate is counted. */
export function countTurns(): void {
  if (++users > 1) return;
  const setImmediate = Object.assign(counted.bind(undefined), { [promisify.custom]: countedPromise });
  use({ setImmediate, clearImmediate: cleared, promised: countedPromise });
}

export function countNoTurns(): void {
  if (--users === 0) use({ setImmediate: atNextTurn, clearImmediate, promised });
}

export class Stillness {
  readonly #silentTurns: number;
  #signs = 0;

  constructor({ isTls }: { isTls: boolean }) {
    this.#silentTurns = isTls ? silentTurnsOfTls : silentTurns;
  }

  get signs(): number {
    return this.#signs;
  }

  /** Called for each sign of work. */
  readonly note = (): void => {
    this.#signs++;
  };

  wait(): Promise<void> {
    let seen = this.#signs;
    let silent = 0;
    let turns = 0;
    return new Promise((resolve, reject) => {
      const turn = (): void => {
        const isSilent = this.#signs === seen && waiting.size === 0;
        seen = this.#signs;
        silent = isSilent ? silent + 1 : 0;
        if (silent >= this.#silentTurns) resolve();
        else if (++turns < mostTurns) atNextTurn(turn);
        else
          reject(
            new Error(
              `waiting for the end of all work: wanted silence, found a loop without a pause of ${mostTurns} turns`,
            ),
          );
      };
      atNextTurn(turn);
    });
  }
}
