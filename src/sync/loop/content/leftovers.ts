// Removes what reference patches brought to either side before they were taken out while the daemon was down: the objects of kinds that no
// patch refers to any more. In: ways to find them, used once every object that could refer has had its pass. Out: deletes of what
// is provably ours, or one sentence with the reason: a Role that no longer allows the list is no fault of the current configuration.
import type { Clock, Timer } from '../../../clock.ts';
import type { Writer } from '../../../cluster/write/writer.ts';
import type { Log } from '../../../log.ts';
import { type Key, keyOf } from '../../../object/meta/object.ts';
import { type ContentKind, contentKinds } from '../../kinds/content/content-kind.ts';
import type { Placement } from '../../plan/placement.ts';
import { type FoundCopy, type FoundImport, importVerdict, isLeftCopy, type LeftObject } from './left-objects.ts';
import type { ReferenceMetrics } from './reference-metrics.ts';

export type SearchAnswer<T extends LeftObject> =
  | { kind: 'found'; objects: readonly T[] }
  /** The message names the missing right. */
  | { kind: 'forbidden'; message: string }
  | { kind: 'failed' };

export interface LeftoversOptions {
  /** Objects of the kind on the host with the marker label of this virtual cluster. */
  findCopies: (kind: ContentKind) => Promise<SearchAnswer<FoundCopy>>;
  /** Objects of the kind in the virtual cluster with the label of imports. */
  findImports: (kind: ContentKind) => Promise<SearchAnswer<FoundImport>>;
  hostWriter: Writer;
  virtualWriter: Writer;
  placement: () => Placement;
  mayWrite: () => boolean;
  /** Lists what would go, and removes nothing. */
  isDryRun: boolean;
  /** Whether a patch refers to objects of the kind: then ContentSync keeps its copies and imports. */
  isNamed: (kind: string) => boolean;
  /** Whether the host copy of an object whose pass failed may still name it. */
  isMentioned: (hostName: string) => boolean;
  clock: Clock;
  log: Log;
  series: ReferenceMetrics;
}

interface Sweep<T extends LeftObject> {
  kind: ContentKind;
  side: 'host' | 'virtual';
  what: 'copy' | 'import';
  /** What people read when it cannot be done. */
  mayBeLeft: string;
  find: () => Promise<SearchAnswer<T>>;
  judge: (object: T) => Promise<'goes' | 'stays' | 'unknown'>;
}

/** A retry is not urgent: what is left has been there since before the start. */
const retryMs = 60_000;

export class Leftovers {
  readonly #options: LeftoversOptions;
  readonly #done = new Set<string>();
  readonly #notes = new Map<string, { kind: string; note: string }>();
  readonly #withheld: { kind: string; side: string; key: Key }[] = [];
  #retry: Timer | undefined;
  #going: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: LeftoversOptions) {
    this.#options = options;
  }

  /** Call it whenever all references have been counted; kinds that are done are skipped. */
  begin(): void {
    if (this.#isStopped || this.#going !== undefined || this.#retry !== undefined || !this.#mayWork) return;
    this.#going = this.#sweepAll().finally(() => {
      this.#going = undefined;
    });
  }

  get #mayWork(): boolean {
    return this.#options.isDryRun || this.#options.mayWrite();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#retry?.cancel();
    await this.#going;
  }

  get isIdle(): boolean {
    return this.#going === undefined;
  }

  /** The reasons why something may be left, by kind. */
  get notes(): ReadonlyMap<string, string> {
    const byKind = Map.groupBy(this.#notes.values(), ({ kind }) => kind);
    return new Map([...byKind].map(([kind, notes]) => [kind, notes.map(({ note }) => note).join('; ')]));
  }

  /** What a dry run would have removed. */
  get withheld(): readonly { kind: string; side: string; key: Key }[] {
    return this.#withheld.filter(({ kind }) => !this.#options.isNamed(kind));
  }

  async #sweepAll(): Promise<void> {
    let isDone = true;
    for (const kind of contentKinds) {
      if (!(await this.#sweep(this.#copiesOf(kind)))) isDone = false;
      if (!(await this.#sweep(this.#importsOf(kind)))) isDone = false;
    }
    if (isDone || this.#isStopped) return;
    this.#retry = this.#options.clock.after(retryMs, () => {
      this.#retry = undefined;
      this.begin();
    });
  }

  #copiesOf(kind: ContentKind): Sweep<FoundCopy> {
    const { findCopies, placement } = this.#options;
    return {
      kind,
      side: 'host',
      what: 'copy',
      mayBeLeft: `copies that earlier reference patches made of a ${kind.kind} may be left on the host`,
      find: () => findCopies(kind),
      judge: async (copy) => (isLeftCopy(copy, kind, placement()) ? 'goes' : 'stays'),
    };
  }

  #importsOf(kind: ContentKind): Sweep<FoundImport> {
    const { findImports, placement, hostWriter } = this.#options;
    return {
      kind,
      side: 'virtual',
      what: 'import',
      mayBeLeft: `imports that earlier reference patches made of a ${kind.kind} may be left in the virtual cluster`,
      find: () => findImports(kind),
      judge: (found) => importVerdict(found, kind, { placement: placement(), hostWriter }),
    };
  }

  /** True when nothing is left that could be removed, or when ContentSync looks after it. */
  async #sweep<T extends LeftObject>(sweep: Sweep<T>): Promise<boolean> {
    const { kind } = sweep.kind;
    const id = `${sweep.what} ${kind}`;
    if (this.#isStopped || this.#done.has(id) || this.#options.isNamed(kind)) return true;
    try {
      const found = await sweep.find();
      if (found.kind === 'forbidden') {
        // A server that has just started forbids everything for a moment.
        this.#note(sweep, found.message);
        return false;
      }
      if (found.kind === 'failed') return false;
      let isDone = true;
      for (const object of found.objects) if (!(await this.#remove(sweep, object))) isDone = false;
      if (!isDone) return false;
      this.#done.add(id);
      this.#notes.delete(id);
      return true;
    } catch (error) {
      this.#options.log.error({ component: 'sync', kind, err: error }, `looking for a leftover ${sweep.what} failed`);
      return false;
    }
  }

  async #remove<T extends LeftObject>(sweep: Sweep<T>, object: T): Promise<boolean> {
    const { isNamed, isMentioned, isDryRun, hostWriter, virtualWriter, series, log } = this.#options;
    const { side, what } = sweep;
    const { kind, resource } = sweep.kind;
    const { namespace, name, uid, resourceVersion } = object;
    if (object.isDeleting) return true;
    const verdict = await sweep.judge(object);
    if (verdict !== 'goes') return verdict === 'stays';
    // Asked for each object, and again before its request leaves: the configuration may have changed since the list began.
    const isWanted = () => !this.#isStopped && !isNamed(kind) && this.#mayWork && !isMentioned(name);
    if (!isWanted()) return false;
    if (isDryRun) {
      this.#withheld.push({ kind, side, key: keyOf(namespace, name) });
      return true;
    }
    const writer = side === 'host' ? hostWriter : virtualWriter;
    const answer = await writer.remove(resource, { namespace, name }, { uid, resourceVersion }, isWanted);
    if (answer.kind === 'notFound') return true;
    if (answer.kind === 'forbidden') this.#note(sweep, `not allowed to delete ${resource.resource}`);
    if (answer.kind !== 'ok') return false;
    series.request(kind, `${side} remove`);
    log.info({ component: 'sync', kind, object: keyOf(namespace, name) }, `leftover ${what} removed`);
    return true;
  }

  #note(
    { kind: { kind }, what, mayBeLeft }: Pick<Sweep<LeftObject>, 'kind' | 'what' | 'mayBeLeft'>,
    why: string,
  ): void {
    const note = `${mayBeLeft}: ${why}`;
    const id = `${what} ${kind}`;
    if (this.#notes.get(id)?.note === note) return;
    this.#notes.set(id, { kind, note });
    this.#options.log.info({ component: 'sync', kind, note }, `a leftover ${what} is not looked for`);
  }
}
