// One process of a store and the ways to it. When it is killed, whatever was asked has no answer, and its watches end.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Answered, Asked, Delivery } from '../history.ts';
import type { FromStore, Lurk, ToStore } from './process-messages.ts';
import type { Moment, OpenWatch, Reach } from './subject.ts';

const program = new URL('./store-program.ts', import.meta.url);
/** Half of a start is reading the sources, which are the same for every process. */
const compiled = join(tmpdir(), 'hostward-rig-compiled');

/** For so long a kill waits for a write that it can leave without an answer. */
const mostWaitMs = 200;
/** A process that strikes itself may have to wait for its next beat. */
const mostLurkMs = 1_000;
/** How often one that may stand still is woken. */
const wakeEveryMs = 50;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

type Untold<Message> = Message extends unknown ? Omit<Message, 'id'> : never;

export class StoreProcess implements Reach {
  #child: ChildProcess;
  #nextId = 1;
  #pending = new Map<number, { resolve: (message: FromStore) => void; reject: (error: Error) => void }>();
  #watches = new Map<number, (delivery: Delivery) => void>();
  #isGone = false;
  #gone: Promise<unknown>;
  /** Called in place of the next answer to a write that has succeeded, which nobody gets then. */
  #insteadOfAnswer: (() => void) | undefined;

  constructor() {
    // The environment may name other processes' files and flags.
    const env = { NODE_COMPILE_CACHE: compiled };
    this.#child = fork(program, { serialization: 'advanced', env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.#child.on('message', (message: FromStore) => this.#receive(message));
    this.#gone = once(this.#child, 'exit');
    this.#child.on('exit', () => this.#lose());
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async tell(message: Untold<ToStore>): Promise<FromStore> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      if (this.#isGone) return reject(new Error('the store is gone'));
      this.#pending.set(id, { resolve, reject });
      this.#child.send({ ...message, id }, () => undefined);
    });
  }

  async ask(asked: Asked): Promise<Answered> {
    const message = await this.#tellOrLose({ do: 'ask', asked });
    return message !== undefined && 'answered' in message ? message.answered : { kind: 'unknown', why: 'killed' };
  }

  async watch(
    prefix: string,
    afterRevision: number,
    deliver: (delivery: Delivery) => void,
  ): Promise<OpenWatch | { compactedRevision: number }> {
    const watch = this.#nextId++;
    this.#watches.set(watch, deliver);
    const message = await this.#tellOrLose({ do: 'watch', watch, prefix, afterRevision });
    // It was gone before it was asked, when all its watches had ended.
    if (message === undefined && this.#watches.delete(watch)) deliver({ kind: 'end', how: 'killed' });
    if (message !== undefined && 'compactedRevision' in message && message.compactedRevision !== undefined) {
      this.#watches.delete(watch);
      return { compactedRevision: message.compactedRevision };
    }
    return {
      bookmark: async () => {
        await this.#tellOrLose({ do: 'bookmark', watch });
      },
      close: () => void this.#tellOrLose({ do: 'unwatch', watch }),
    };
  }

  async kill(moment: Moment = 'now'): Promise<void> {
    if (moment === 'after a write') await this.#hasWritten();
    else if (moment !== 'now') {
      await this.#tellOrLose({ do: 'lurk', lurk: { moment, signal: 'SIGKILL' } });
      await Promise.race([this.#gone, pause(mostLurkMs)]);
    }
    this.#child.kill('SIGKILL');
    await this.#end();
  }

  /** A write has succeeded whose answer nobody will get. Where nobody writes any more, nothing is waited for. */
  async #hasWritten(): Promise<void> {
    await new Promise<void>((resolve) => {
      const tooLate = setTimeout(resolve, mostWaitMs);
      this.#insteadOfAnswer = () => {
        clearTimeout(tooLate);
        resolve();
      };
    });
    this.#insteadOfAnswer = undefined;
  }

  /** Whoever kills it meanwhile has killed it. */
  async freeze(forMs: number, moment: Moment = 'now'): Promise<void> {
    if (moment === 'after a host write') return this.#freezeItself(forMs, moment);
    this.#child.kill('SIGSTOP');
    await pause(forMs);
    this.#child.kill('SIGCONT');
  }

  async #freezeItself(forMs: number, moment: Lurk['moment']): Promise<void> {
    await this.#tellOrLose({ do: 'lurk', lurk: { moment, signal: 'SIGSTOP' } });
    await pause(forMs);
    // It may stop just before it hears that it is not to.
    let hasHeard = false;
    const heard = this.#tellOrLose({ do: 'lurk', lurk: undefined }).then(() => {
      hasHeard = true;
    });
    while (!hasHeard) {
      this.#child.kill('SIGCONT');
      await Promise.race([heard, pause(wakeEveryMs)]);
    }
  }

  async lag(forMs: number): Promise<void> {
    await this.#tellOrLose({ do: 'lag', forMs });
  }

  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#end();
  }

  async #end(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
    this.#lose();
  }

  async #tellOrLose(message: Untold<ToStore>): Promise<FromStore | undefined> {
    try {
      return await this.tell(message);
    } catch (error) {
      if (this.#isGone) return undefined;
      throw error;
    }
  }

  #receive(message: FromStore): void {
    if (this.#isGone) return;
    if ('watch' in message) {
      const deliver = this.#watches.get(message.watch);
      if (message.delivery.kind === 'end') this.#watches.delete(message.watch);
      deliver?.(message.delivery);
      return;
    }
    if (this.#insteadOfAnswer !== undefined && 'answered' in message && message.answered.kind === 'written') {
      this.#insteadOfAnswer();
      return;
    }
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if ('fault' in message) pending?.reject(new Error(message.fault));
    else pending?.resolve(message);
  }

  #lose(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const { reject } of this.#pending.values()) reject(new Error('the store is gone'));
    this.#pending.clear();
    for (const deliver of this.#watches.values()) deliver({ kind: 'end', how: 'killed' });
    this.#watches.clear();
  }
}

/** Processes for stores, one after the other. One is always started ahead, because a start takes longer than a history. */
export class StoreProcesses {
  #idle: StoreProcess[] = [];

  take(): StoreProcess {
    const taken = this.#idle.pop() ?? new StoreProcess();
    if (this.#idle.length === 0) this.#idle.push(new StoreProcess());
    return taken;
  }

  giveBack(process: StoreProcess): void {
    this.#idle.push(process);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((process) => process.stop()));
  }
}
