// Looks once a minute for what the watch of the records shows as deleted although a Secret is there, so that no replica can tell it from a
// key that was revoked, and a create under the same name is refused: a record whose label somebody has taken off, and a Secret of another
// type under the name of a record. In: a connection. Out: names of Secrets. It must never read what Secrets of other programs hold.
import { type Clock, pause } from '../../../../clock.ts';
import { readHeadPages } from '../../../../cluster/window/head-pages.ts';
import type { Connection } from '../../../../cluster/wire/connection.ts';
import type { WindowScope } from '../../../../cluster/wire/scope.ts';
import type { Log } from '../../../../log.ts';
import { isNameOfRecord } from '../../../../store/kubernetes/records/record-format.ts';
import { recordLabel, recordType, secretsResource } from './host-secrets.ts';

const everyMs = 60_000;

export class HiddenRecords {
  readonly #options: { connection: Connection; namespace: string; clock: Clock; log: Log };
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** Records without a label, in the order of the host. */
  names: readonly string[] = [];
  /** Secrets of other programs that have the names of records. */
  inTheWay: readonly string[] = [];

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
    const hidden = await this.#listed({ labelSelector: `!${recordLabel}`, fieldSelector: `type=${recordType}` });
    this.#tell(hidden, this.names, 'record of the store has lost its label and counts as deleted');
    this.names = hidden ?? this.names;
    const others = await this.#listed({ labelSelector: undefined, fieldSelector: `type!=${recordType}` });
    const inTheWay = others?.filter(isNameOfRecord);
    this.#tell(inTheWay, this.inTheWay, 'a Secret of another type has the name of a record');
    this.inTheWay = inTheWay ?? this.inTheWay;
  }

  async #listed(selected: Pick<WindowScope, 'labelSelector' | 'fieldSelector'>): Promise<string[] | undefined> {
    const { connection, namespace, clock } = this.#options;
    const found: string[] = [];
    const end = await readHeadPages({
      ...{ connection, clock, signal: this.#stop.signal },
      scope: { ref: secretsResource, namespace, ...selected },
      ...{ spreadMs: 0, expected: 0, newestKnown: '0' },
      page: (heads) => found.push(...heads.map(({ name }) => name)),
    });
    return end.kind === 'read' ? found : undefined;
  }

  #tell(found: readonly string[] | undefined, before: readonly string[], says: string): void {
    for (const record of found ?? [])
      if (!before.includes(record)) this.#options.log.error({ component: 'management', record }, says);
  }
}

/** `why` undefined = it is believed again. */
export function logAside(log: Log, record: string, { why, gone }: { why: string | undefined; gone: boolean }): void {
  const about = { component: 'management', record };
  if (gone) log.info(about, 'record of the store that was left aside is gone');
  else if (why === undefined) log.info(about, 'record of the store is good again');
  else log.error({ ...about, why }, 'record of the store left aside: it cannot be read or believed');
}
