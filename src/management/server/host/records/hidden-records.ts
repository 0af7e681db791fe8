// Looks once a minute for records whose label somebody has taken off: the watch of the records shows them as deleted, so no replica can
// tell them from keys that were revoked, and a create under the same name is refused. In: a connection. Out: names of Secrets.
import { type Clock, pause } from '../../../../clock.ts';
import { listPages } from '../../../../cluster/window/list-pages.ts';
import type { Connection } from '../../../../cluster/wire/connection.ts';
import type { Log } from '../../../../log.ts';
import { recordLabel, recordType, secretsResource } from './host-secrets.ts';

const everyMs = 60_000;

export class HiddenRecords {
  readonly #options: { connection: Connection; namespace: string; clock: Clock; log: Log };
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** In the order of the host. */
  names: readonly string[] = [];

  constructor(options: { connection: Connection; namespace: string; clock: Clock; log: Log }) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#look();
      await pause(this.#options.clock, everyMs, signal);
    }
  }

  /** A host that does not answer is reported elsewhere. */
  async #look(): Promise<void> {
    const { connection, namespace, log } = this.#options;
    const found: string[] = [];
    const end = await listPages({
      connection,
      scope: {
        ...{ ref: secretsResource, namespace },
        ...{ labelSelector: `!${recordLabel}`, fieldSelector: `type=${recordType}` },
      },
      signal: this.#stop.signal,
      page: () => {},
      accept: ({ metadata }) => found.push(metadata.name ?? ''),
    });
    if (end.kind !== 'listed') return;
    for (const record of found.filter((name) => !this.names.includes(name)))
      log.error({ component: 'management', record }, 'record of the store has lost its label and counts as deleted');
    this.names = found;
  }
}

/** `why` undefined = it is believed again. */
export function logAside(log: Log, record: string, { why, gone }: { why: string | undefined; gone: boolean }): void {
  const about = { component: 'management', record };
  if (gone) log.info(about, 'record of the store that was left aside is gone');
  else if (why === undefined) log.info(about, 'record of the store is good again');
  else log.error({ ...about, why }, 'record of the store left aside: it cannot be read or believed');
}
