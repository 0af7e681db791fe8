// Copies on the host of kinds that no patch refers to any more, because the patch went while nobody was watching. In: a way to
// list them, asked once everything that could refer has had its pass. Out: deletes of what is provably ours, or one sentence
// why not: a Role that no longer allows to look is no fault of the configuration in force.
import type { Clock, Timer } from '../../clock.ts';
import type { Writer } from '../../cluster/writer.ts';
import type { Log } from '../../log.ts';
import { keyOf } from '../../object/object.ts';
import type { Placement } from '../placement.ts';
import { type ContentKind, contentKinds, type HostContent } from './content-kind.ts';
import { holdOf, isOwnCopy } from './own-copy.ts';
import type { ReferenceMetrics } from './reference-metrics.ts';

/** Everything but the content, which nobody needs for a delete. */
export type FoundCopy = Omit<HostContent, 'content'>;

export type FoundCopies =
  | { kind: 'found'; copies: readonly FoundCopy[] }
  /** In the words of the right that is missing. */
  | { kind: 'forbidden'; message: string }
  | { kind: 'failed' };

export interface LeftoversOptions {
  /** Objects of the kind on the host with the marker label of this virtual cluster. */
  findCopies: (kind: ContentKind) => Promise<FoundCopies>;
  hostWriter: Writer;
  placement: () => Placement;
  mayWrite: () => boolean;
  /** A patch refers to objects of the kind: then its copies are kept by others. */
  isNamed: (kind: string) => boolean;
  /** The host copy of somebody whose pass failed may still name it. */
  isMentioned: (hostName: string) => boolean;
  clock: Clock;
  log: Log;
  series: ReferenceMetrics;
}

/** What could not be listed or deleted is in no hurry: it has been there since before the start. */
const retryMs = 60_000;

export class Leftovers {
  readonly #options: LeftoversOptions;
  readonly #done = new Set<string>();
  readonly #notes = new Map<string, string>();
  #retry: Timer | undefined;
  #going: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: LeftoversOptions) {
    this.#options = options;
  }

  /** To be called whenever all references have been counted; what is done is not done again. */
  begin(): void {
    if (this.#isStopped || this.#going !== undefined || this.#retry !== undefined || !this.#options.mayWrite()) return;
    this.#going = this.#sweep().finally(() => {
      this.#going = undefined;
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#retry?.cancel();
    await this.#going;
  }

  get isIdle(): boolean {
    return this.#going === undefined;
  }

  /** Why copies of a kind may be left, by kind. */
  get notes(): ReadonlyMap<string, string> {
    return this.#notes;
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
        this.#options.log.error({ room: 'sync', kind: kind.kind, err: error }, 'looking for leftover copies failed');
      }
    }
    if (isDone || this.#isStopped) return;
    this.#retry = this.#options.clock.after(retryMs, () => {
      this.#retry = undefined;
      this.begin();
    });
  }

  /** True when nothing is left that could still go. */
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
    const { isNamed, isMentioned, mayWrite, hostWriter, series, log } = this.#options;
    if (copy.isDeleting || holdOf(copy) !== undefined) return true;
    // Looked at anew each time: the configuration may have changed since the list was asked for.
    if (this.#isStopped || isNamed(kind.kind) || !mayWrite() || isMentioned(copy.name)) return false;
    const { namespace, name, uid, resourceVersion } = copy;
    const answer = await hostWriter.remove(kind.resource, { namespace, name }, { uid, resourceVersion });
    if (answer.kind === 'notFound') return true;
    if (answer.kind === 'forbidden') this.#note(kind, `not allowed to delete ${kind.resource.resource}`);
    if (answer.kind !== 'ok') return false;
    series.request(kind.kind, 'host remove');
    log.info({ room: 'sync', kind: kind.kind, object: keyOf(namespace, name) }, 'leftover copy removed');
    return true;
  }

  #note({ kind }: ContentKind, message: string): void {
    const note = `copies that earlier reference patches made of a ${kind} may be left on the host: ${message}`;
    if (this.#notes.get(kind) === note) return;
    this.#notes.set(kind, note);
    this.#options.log.info({ room: 'sync', kind, note }, 'leftover copies not looked for');
  }
}
