// What a store on a Kubernetes API server is given.
import type { Clock } from '../../clock.ts';
import type { Store } from '../store.ts';
import type { TimelineStoreOptions } from '../timeline-store.ts';
import type { BeforeStart } from './meta-record.ts';
import type { RoomOptions } from './record-writer.ts';
import type { HostRecords } from './records/host-records.ts';
import type { RecordReaderOptions } from './trust/record-reader.ts';
import type { Seals } from './trust/seals.ts';

export interface KubernetesStoreOptions extends TimelineStoreOptions, RecordReaderOptions, BeforeStart {
  host: HostRecords;
  /** A new epoch, for an empty store. */
  newEpoch: () => string;
  /** Measures silence and waits; default `clock`. */
  hostClock?: Clock;
  /** Two replicas may each add what is under way at the other. */
  room?: RoomOptions;
  /** What the other replicas and `status` read about this one. */
  about?: () => string;
  /** Called once, when the host shows an older state than before. */
  wentBack?: (message: string) => void;
  /** Read at the start; a new store is sealed if there are keys then. Default: none. */
  seals?: () => Promise<Seals>;
  /** Opens it also when some records are sealed and the store is not. */
  mends?: boolean;
  /** Opens it also when it was set back. */
  recovers?: boolean;
  /** Whether this replica has seen a later state than the one that it finds; default: no. */
  hasSeenLater?: (found: Pick<Store, 'list'> & { epoch: string }) => Promise<boolean>;
}
