// What an expression saw of the host when the copy was last written. An expression that reads the host object would see the result of
// its own write in the next look, answer something else, and be written again, for ever. In: writes and their answers. Out: what to show.
import type { Key } from '../../../object/meta/object.ts';
import type { HostItem } from '../../plan/kind.ts';
import type { Facts } from '../../plan/step.ts';

interface Written {
  /** Of the answer, and of the virtual object that was written. */
  host: string;
  virtual: string;
  /** Null = there was no copy. */
  seen: HostItem | null;
}

export class OwnEcho {
  readonly #written = new Map<Key, Written>();

  /** The host object that expressions see: while both sides are as our own write left them, the one that they saw for that write. */
  seenBy({ key, virtual, host }: Pick<Facts, 'key' | 'virtual' | 'host'>): HostItem | null {
    const written = this.#written.get(key);
    const isEcho = written?.host === host?.resourceVersion && written?.virtual === virtual?.resourceVersion;
    return written !== undefined && isEcho ? written.seen : (host ?? null);
  }

  /** `version`: what the host has made of the copy; undefined = it is gone. */
  note(facts: Pick<Facts, 'key' | 'virtual' | 'host'>, version: string | undefined): void {
    const { key, virtual } = facts;
    if (version === undefined || virtual === undefined) this.#written.delete(key);
    else this.#written.set(key, { host: version, virtual: virtual.resourceVersion, seen: this.seenBy(facts) });
  }
}
