// What the player and the process of a store say to each other.

import type { HostServer } from '../../../contract/store/on-host.ts';
import type { Answered, Asked, Delivery } from '../history.ts';
import type { Plant } from './planted.ts';

export type PlaceOfStore =
  | { kind: 'file'; path: string }
  /** `isStrained`: the way to the API server is worse than on one machine. */
  | { kind: 'server'; server: HostServer; namespace: string; replica: string; isStrained: boolean };

/** What a process does to itself, and when. */
export interface Lurk {
  moment: 'after a host write' | 'before a beat';
  signal: 'SIGKILL' | 'SIGSTOP';
}

export type ToStore =
  | { id: number; do: 'open'; on: PlaceOfStore; plant: Plant | undefined }
  | { id: number; do: 'close' }
  | { id: number; do: 'lurk'; lurk: Lurk | undefined }
  | { id: number; do: 'lag'; forMs: number }
  /** The records that it leaves aside, when nobody is to be asked about them any more, and how often it has judged one late. */
  | { id: number; do: 'aside' }
  | { id: number; do: 'ask'; asked: Asked }
  | { id: number; do: 'watch'; watch: number; prefix: string; afterRevision: number }
  | { id: number; do: 'bookmark'; watch: number }
  | { id: number; do: 'unwatch'; watch: number };

export type FromStore =
  | { id: number; answered: Answered }
  | { id: number; compactedRevision: number | undefined }
  | { id: number; fault: string }
  | { id: number; aside: string[]; late: number }
  | { watch: number; delivery: Delivery };
