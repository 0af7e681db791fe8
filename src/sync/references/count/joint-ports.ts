// Joins what the syncs of all referring kinds lend to the sync of references: a question is asked of every kind, and a message
// goes to the kind of its object.
import type { Item, Window } from '../../../cluster/window/window.ts';
import type { Writer } from '../../../cluster/write/writer.ts';
import type { Key } from '../../../object/meta/object.ts';
import type { OwnerState } from '../../plan/owner.ts';
import type { Rules } from '../../world/sources.ts';
import type { Reference } from '../reference-names.ts';
import type { Referrer } from './registry.ts';

/** What the sync of references uses of the sync of one kind of referring objects. */
export interface ReferencePorts {
  virtualWriter: Writer;
  hostWriter: Writer;
  mayWrite: () => boolean;
  isDryRun: boolean;
  rules: () => Rules;
  owner: () => OwnerState;
  /** The owner may be gone, although the window shows it. */
  doubtOwner: () => void;
  isListInDoubt: () => boolean;
  /** Whether the host copy of this virtual object holds the text. */
  isMentioned: (key: Key, text: string) => boolean;
  /** The virtual objects of a kind, if this sync watches them. */
  virtualOf: (kind: string) => Pick<Window<Item>, 'has' | 'keys'> | undefined;
  /** The references in the virtual objects, as far as their text tells without running a patch. */
  namedInText: () => Iterable<Reference>;
  enqueue: (key: Key) => void;
  tell: (key: Key, note: { reason: string; message: string }) => void;
}

export class JointPorts {
  readonly #ports = new Map<string, ReferencePorts>();
  readonly virtualWriter = this.#writer('virtualWriter');
  readonly hostWriter = this.#writer('hostWriter');

  add(kind: string, ports: ReferencePorts): void {
    this.#ports.set(kind, ports);
  }

  get firstKind(): string | undefined {
    return this.#ports.keys().next().value;
  }

  /** The kinds differ only in their switches, so what a kind that may write says is true of all of them. */
  #any(): ReferencePorts {
    const ports = [...this.#ports.values()];
    const one = ports.find(({ mayWrite }) => mayWrite()) ?? ports[0];
    if (one === undefined) throw new Error('references were used before a kind that refers had started');
    return one;
  }

  /** A kind that is switched off has a writer that refuses, so each write goes through a kind that may write then. */
  #writer(side: 'virtualWriter' | 'hostWriter'): Writer {
    const one = (): Writer => this.#any()[side];
    return {
      get: (ref, place) => one().get(ref, place),
      create: (ref, object) => one().create(ref, object),
      patch: (ref, place, mergePatch) => one().patch(ref, place, mergePatch),
      remove: (ref, place, preconditions) => one().remove(ref, place, preconditions),
      stop: async () => {},
      get inFlight() {
        return one().inFlight;
      },
    };
  }

  get isDryRun(): boolean {
    return this.#any().isDryRun;
  }

  mayWrite(): boolean {
    return [...this.#ports.values()].some(({ mayWrite }) => mayWrite());
  }

  rules(): Rules {
    return this.#any().rules();
  }

  owner(): OwnerState {
    return this.#any().owner();
  }

  doubtOwner(): void {
    for (const { doubtOwner } of this.#ports.values()) doubtOwner();
  }

  isListInDoubt(): boolean {
    return [...this.#ports.values()].some(({ isListInDoubt }) => isListInDoubt());
  }

  isMentioned({ kind, key }: Referrer, text: string): boolean {
    return this.#ports.get(kind)?.isMentioned(key, text) ?? false;
  }

  virtualOf(kind: string): ReturnType<ReferencePorts['virtualOf']> {
    for (const { virtualOf } of this.#ports.values()) {
      const found = virtualOf(kind);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  *namedInText(): Iterable<Reference> {
    for (const { namedInText } of this.#ports.values()) yield* namedInText();
  }

  enqueue({ kind, key }: Referrer): void {
    this.#ports.get(kind)?.enqueue(key);
  }

  tell({ kind, key }: Referrer, note: { reason: string; message: string }): void {
    this.#ports.get(kind)?.tell(key, note);
  }
}
