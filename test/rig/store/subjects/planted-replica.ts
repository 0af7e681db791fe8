// Bugs that only a store over an external log can have, planted into each of its replicas.
import { nameOf, readRecord } from '../../../../src/store/kubernetes/records/record-format.ts';
import { NumberedStore } from '../../../contract/store/on-host.ts';
import type { Plant } from './planted.ts';

class KeepsWatches extends NumberedStore {
  protected override restart(world: Parameters<NumberedStore['restart']>[0]): void {
    const { hub } = this;
    const { loseAll } = hub;
    hub.loseAll = () => undefined;
    super.restart(world);
    hub.loseAll = loseAll;
  }
}

class ReadsHastily extends NumberedStore {
  override async get(key: string, { fresh = false }: { fresh?: boolean } = {}) {
    const known = await super.get(key);
    const found = fresh ? await this.given.host.get(nameOf(key)) : undefined;
    const read = found && readRecord(found, 0);
    if (read?.kind !== 'record') return known;
    return { record: read.record, revision: Math.max(known.revision, read.record.revision) };
  }
}

class MissesHastily extends NumberedStore {
  override async get(key: string, { fresh = false }: { fresh?: boolean } = {}) {
    if (fresh && (await this.given.host.get(nameOf(key))) === undefined)
      return { record: undefined, revision: (await super.get(key)).revision };
    return super.get(key, { fresh });
  }
}

export const plantedReplicas: Partial<Record<Plant, typeof NumberedStore>> = {
  'watches after a loss': KeepsWatches,
  'hasty live read': ReadsHastily,
  'hasty absence': MissesHastily,
};
