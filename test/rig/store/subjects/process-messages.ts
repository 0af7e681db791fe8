// What the player and the process of a store say to each other.
import type { Answered, Asked, Delivery } from '../history.ts';
import type { Plant } from './planted.ts';

export type ToStore =
  | { id: number; do: 'open'; path: string; plant: Plant | undefined }
  | { id: number; do: 'close' }
  | { id: number; do: 'ask'; asked: Asked }
  | { id: number; do: 'watch'; watch: number; prefix: string; afterRevision: number }
  | { id: number; do: 'bookmark'; watch: number }
  | { id: number; do: 'unwatch'; watch: number };

export type FromStore =
  | { id: number; answered: Answered }
  | { id: number; compactedRevision: number | undefined }
  | { id: number; fault: string }
  | { watch: number; delivery: Delivery };
