// A process that strikes itself at a moment which nobody outside can meet: when the host has taken a change and this replica has not heard of it yet,
// or before the beat by which the others would hear how far it has read.
import type { HostRecords } from '../../../../src/store/kubernetes/records/host-records.ts';
import { isReplicaName } from '../../../../src/store/kubernetes/records/record-format.ts';
import type { Lurk } from './process-messages.ts';

export class Lurker {
  #waitsFor: Lurk | undefined;
  #hasChanged = false;

  lurk(lurk: Lurk | undefined): void {
    this.#waitsFor = lurk;
    this.#hasChanged = false;
  }

  beside(host: HostRecords): HostRecords {
    const create = host.create.bind(host);
    host.create = async (...asked) => this.#changed(await create(...asked));
    const replace = host.replace.bind(host);
    host.replace = async (...asked) => {
      if (!isReplicaName(asked[0])) return this.#changed(await replace(...asked));
      if (this.#hasChanged) this.#strikeAt('before a beat');
      return replace(...asked);
    };
    const remove = host.remove.bind(host);
    host.remove = async (...asked) => this.#changed(await remove(...asked));
    return host;
  }

  #changed<Change extends { kind: string }>(change: Change): Change {
    if (change.kind !== 'written' && change.kind !== 'removed') return change;
    this.#hasChanged = true;
    this.#strikeAt('after a host write');
    return change;
  }

  #strikeAt(moment: Lurk['moment']): void {
    if (this.#waitsFor?.moment !== moment) return;
    const { signal } = this.#waitsFor;
    this.lurk(undefined);
    process.kill(process.pid, signal);
  }
}
