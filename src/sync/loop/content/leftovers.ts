// Removes copies of kinds that no patch refers to any more, because the patch was taken out while the daemon was down. In: a
// way to list them, used once every object that could refer has had its pass. Out: deletes of copies that are provably
// ours, or one sentence with the reason: a Role that no longer allows the list is no fault of the current configuration.
import type { Clock, Timer } from '../../../clock.ts';
import type { Writer } from '../../../cluster/write/writer.ts';
import type { Log } from '../../../log.ts';
import { type Key, keyOf } from '../../../object/meta/object.ts';
import { type ContentKind, contentKinds, type HostContent } from '../../kinds/content/content-kind.ts';
import { holdOf, isOwnCopy } from '../../kinds/content/own-copy.ts';
import type { Placement } from '../../plan/placement.ts';
import type { ReferenceMetrics } from './reference-metrics.ts';

/** A delete does not need the content. */
export type FoundCopy = Omit<HostContent, 'content'>;

export type FoundCopies =
  | { kind: 'found'; copies: readonly FoundCopy[] }
  /** The message names the missing right. */
  | { kind: 'forbidden'; message: string }
  | { kind: 'failed' };

export interface LeftoversOptions {
  /** Objects of the kind on the host with the marker label of this virtual cluster. */
  findCopies: (kind: ContentKind) => Promise<FoundCopies>;
  hostWriter: Writer;
  placement: () => Placement;
  mayWrite: () => boolean;
  /** Lists the copies that would go, and removes none. */
  isDryRun: boolean;
  /** Whether a patch refers to objects of the kind: then ContentSync keeps its copies. */
  isNamed: (kind: string) => boolean;
  /** Whether the host copy of an object whose pass failed may still name it. */
  isMentioned: (hostName: string) => boolean;
  clock: Clock;
  log: Log;
  series: ReferenceMetrics;
}

/** A retry is not urgent: these copies have been there since before the start. */
const retryMs = 60_000;

export class Leftovers {
  readonly #options: LeftoversOptions;
  readonly #done = new Set<string>();
  readonly #notes = new Map<string, string>();
  readonly #withheld: { kind: string; copy: Key }[] = [];
  #retry: Timer | undefined;
  #going: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: LeftoversOptions) {
    this.#options = options;
  }

  /** Call it whenever all references have been counted; kinds that are done are skipped. */
  begin(): void {
    if (this.#isStopped || this.#going !== undefined || this.#retry !== undefined || !this.#mayWork) return;
    this.#going = this.#sweep().finally(() => {
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

  /** The reason why copies may be left, by kind. */
  get notes(): ReadonlyMap<string, string> {
    return this.#notes;
  }

  /** The host copies that a dry run would have removed. */
  get withheld(): readonly { kind: string; copy: Key }[] {
    return this.#withheld.filter(({ kind }) => !this.#options.isNamed(kind));
  }

  async #sweep(): Promise<void> {
    let isDone = true;
    for (const kind of contentKinds) {
      if (this.#isStopped) return;
      if (this.#done.has(kind.kind) || this.#options.isNamed(kind.kind)) continue;
      try {
        if (await this.#sweepKind(kind)) {
          this.#done.add(kind.kind);
          this.#notes.delete(kind.kind);
        } else isDone = false;
      } catch (error) {
        isDone = false;
        this.#options.log.error(
          { component: 'sync', kind: kind.kind, err: error },
          'looking for leftover copies failed',
        );
      }
    }
    if (isDone || this.#isStopped) return;
    this.#retry = this.#options.clock.after(retryMs, () => {
      this.#retry = undefined;
      this.begin();
    });
  }

  /** True when no copy is left that could be removed. */
  async #sweepKind(kind: ContentKind): Promise<boolean> {
    const found = await this.#options.findCopies(kind);
    switch (found.kind) {
      case 'forbidden':
        // A host that has just started forbids everything for a moment.
        this.#note(kind, found.message);
        return false;
      case 'failed':
        return false;
      case 'found': {
        const placement = this.#options.placement();
        const own = found.copies.filter((copy) => isOwnCopy(copy, kind, placement));
        let isDone = true;
        for (const copy of own) if (!(await this.#remove(kind, copy))) isDone = false;
        return isDone;
      }
      default:
        return found satisfies never;
    }
  }

  async #remove(kind: ContentKind, copy: FoundCopy): Promise<boolean> {
    const { isNamed, isMentioned, isDryRun, hostWriter, series, log } = this.#options;
    if (copy.isDeleting || holdOf(copy) !== undefined) return true;
    // Asked for each copy: the configuration may have changed since the list began.
    if (this.#isStopped || isNamed(kind.kind) || !this.#mayWork || isMentioned(copy.name)) return false;
    const { namespace, name, uid, resourceVersion } = copy;
    if (isDryRun) {
      this.#withheld.push({ kind: kind.kind, copy: keyOf(namespace, name) });
      return true;
    }
    const answer = await hostWriter.remove(kind.resource, { namespace, name }, { uid, resourceVersion });
    if (answer.kind === 'notFound') return true;
    if (answer.kind === 'forbidden') this.#note(kind, `not allowed to delete ${kind.resource.resource}`);
    if (answer.kind !== 'ok') return false;
    series.request(kind.kind, 'host remove');
    log.info({ component: 'sync', kind: kind.kind, object: keyOf(namespace, name) }, 'leftover copy removed');
    return true;
  }

  #note({ kind }: ContentKind, message: string): void {
    const note = `copies that earlier reference patches made of a ${kind} may be left on the host: ${message}`;
    if (this.#notes.get(kind) === note) return;
    this.#notes.set(kind, note);
    this.#options.log.info({ component: 'sync', kind, note }, 'leftover copies not looked for');
  }
}
