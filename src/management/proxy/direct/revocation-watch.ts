// Follows the revocations of the platform. In: a way to open a watch of them. Out: each revocation, and whether the platform has sent
// a sign of life lately. A broken or silent watch is closed and opened again from the beginning: a server that lost its store has no
// resourceVersion in common with the one before.

import type { IncomingMessage } from 'node:http';
import { type Clock, pause } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import { isRecord } from '../../../object/text/json.ts';
import { backOffMs } from '../../../pace/back-off.ts';
import { LastingTrouble } from '../../../pace/lasting-trouble.ts';
import { type RevocationEntry, readEntry } from '../../credentials/claims/revocations.ts';

export interface RevocationWatchOptions {
  open(): Promise<IncomingMessage>;
  taken(entry: RevocationEntry): void;
  /** After this time without a sign of life, the known revocations are too old to accept tokens. */
  silenceMs: number;
  clock: Clock;
  log: Log;
}

/** Several tries fit into the shortest silence that can be configured. */
const backOff = { firstMs: 200, mostMs: 2_000 };
/** A bookmark comes every five seconds, half of the shortest silence that can be configured, and must not race with the end of the patience. */
const patience = 3 / 4;
/** An entry has two hundred bytes. */
const maxLineLength = 64 * 1024;
/** Characters of a fault that the log shows. */
const longestMessage = 500;

export class RevocationWatch {
  readonly #options: RevocationWatchOptions;
  readonly #ended = new AbortController();
  #response: IncomingMessage | undefined;
  /** All revocations that there were when the watch was opened have come. */
  #isWhole = false;
  #heardMs: number | undefined;
  readonly #told = new LastingTrouble();
  readonly #openedMs: number;
  #running: Promise<void> = Promise.resolve();

  constructor(options: RevocationWatchOptions) {
    this.#options = options;
    this.#openedMs = options.clock.now();
  }

  /** Since the last sign of life; since the opening where there was none yet. */
  get ageSeconds(): number {
    return (this.#options.clock.now() - (this.#heardMs ?? this.#openedMs)) / 1000;
  }

  /** The reason why revocations may be missing; undefined = the feed is up to date. */
  get trouble(): string | undefined {
    const { clock, silenceMs } = this.#options;
    if (this.#heardMs === undefined) return 'the revocations of the platform are not known yet';
    if (clock.now() - this.#heardMs < silenceMs) return undefined;
    return `the platform has sent nothing for ${silenceMs / 1000} seconds`;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    this.#response?.destroy();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#options;
    let failures = 0;
    while (!this.#ended.signal.aborted) {
      const before = this.#heardMs;
      try {
        await this.#follow();
      } catch (error) {
        if (!this.#ended.signal.aborted && this.#told.isNews(String(error), clock.now()))
          log.warn({ component: 'direct', error: String(error) }, 'revocations not followed');
      }
      failures = this.#heardMs === before ? failures + 1 : 1;
      await pause(clock, backOffMs(failures, backOff), this.#ended.signal);
    }
  }

  async #follow(): Promise<void> {
    const { open, clock, silenceMs } = this.#options;
    const response = await open();
    this.#response = response;
    this.#isWhole = false;
    if (this.#ended.signal.aborted) return void response.destroy();
    // A silent connection may be dead, and a new one may work.
    let silence = clock.after(silenceMs * patience, () => response.destroy());
    try {
      let rest = '';
      response.setEncoding('utf8');
      for await (const part of response as AsyncIterable<string>) {
        silence.cancel();
        silence = clock.after(silenceMs * patience, () => response.destroy());
        const lines = (rest + part).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) this.#heard(line);
        if (rest.length > maxLineLength) throw new Error(`want lines of at most ${maxLineLength} characters, got more`);
      }
    } finally {
      silence.cancel();
      response.destroy();
    }
  }

  #heard(line: string): void {
    const { clock, log, taken } = this.#options;
    const event: unknown = JSON.parse(line);
    if (!isRecord(event)) throw new Error('want an event in JSON');
    const { type, object } = event;
    switch (type) {
      case 'BOOKMARK':
        this.#isWhole ||= endsInitialEvents(object);
        if (this.#isWhole) this.#heardMs = clock.now();
        if (this.#isWhole && this.#told.over()) log.info({ component: 'direct' }, 'revocations followed again');
        return;
      case 'ADDED':
      case 'MODIFIED': {
        const entry = readEntry(object, clock.wallTime().getTime());
        // A line that cannot be read may have been a revocation.
        if (entry === undefined) throw new Error('want a Revocation with name and generation');
        taken(entry);
        return;
      }
      case 'DELETED':
        // All its tokens have expired, and this list forgets it by itself.
        return;
      case 'ERROR':
        throw new Error(`the platform ended the watch: ${messageIn(object)}`);
      default:
        throw new Error('want an event ADDED, MODIFIED, DELETED, BOOKMARK or ERROR');
    }
  }
}

function endsInitialEvents(object: unknown): boolean {
  const metadata = isRecord(object) ? object['metadata'] : undefined;
  const annotations = isRecord(metadata) ? metadata['annotations'] : undefined;
  return isRecord(annotations) && annotations['k8s.io/initial-events-end'] === 'true';
}

function messageIn(object: unknown): string {
  const message = isRecord(object) ? object['message'] : undefined;
  return typeof message === 'string' ? message.slice(0, longestMessage) : 'it gave no reason';
}
