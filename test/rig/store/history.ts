// What happened, as data: who asked what, when the question left and when the answer came. Every judge reads a history and nothing else, so that
// a history from a file is judged as the one that was just played.
import type { StoredRecord, StoreEvent } from '../../../src/store/store.ts';

export type Asked =
  | { verb: 'write'; key: string; expect: number | undefined; value: string | undefined }
  | { verb: 'get'; key: string; isFresh: boolean }
  | { verb: 'list'; prefix: string; atRevision?: number; afterKey?: string; limit?: number }
  | { verb: 'read'; keys: string[]; atRevision: number }
  | { verb: 'revision' }
  | { verb: 'compact'; upTo: number };

export type Answered =
  | { kind: 'written'; revision: number; createRevision: number }
  | { kind: 'refused'; current: StoredRecord | undefined; revision: number }
  | { kind: 'record'; record: StoredRecord | undefined; revision: number }
  | { kind: 'page'; records: StoredRecord[]; revision: number; hasMore: boolean; remaining: number | undefined }
  /** Of the first keys that were asked for; null for what is absent. */
  | { kind: 'read'; records: (StoredRecord | null)[] }
  | { kind: 'revision'; revision: number }
  | { kind: 'compacted'; compactedRevision: number }
  | { kind: 'futureRevision'; currentRevision: number }
  | { kind: 'done' }
  /** The answer never came, or the store could not say: a write may have happened, and may yet. */
  | { kind: 'unknown'; why: string };

/** Times count calls and returns of the whole history: whatever returned before another was called is earlier. */
export interface Operation {
  client: number;
  asked: Asked;
  answered: Answered;
  calledAt: number;
  returnedAt: number;
}

export type Delivery =
  | { kind: 'events'; events: StoreEvent[] }
  /** Everything up to this revision was delivered, says the store. */
  | { kind: 'bookmark'; revision: number }
  | { kind: 'end'; how: string };

export interface Watched {
  client: number;
  prefix: string;
  afterRevision: number;
  calledAt: number;
  returnedAt: number;
  /** Absent: the watch was opened. */
  compactedRevision?: number;
  /** What brought the client here: it goes on where another watch of it ended. */
  isResumed: boolean;
  deliveries: { at: number; delivery: Delivery }[];
  /** The last revision that this watch must have delivered when all was over; absent: it ended before. */
  owes?: number;
}

export interface History {
  store: string;
  seed: number;
  /** What the store promises beyond the interface. */
  promises: Promises;
  operations: Operation[];
  watches: Watched[];
  kills: number;
  /** How often the API server that holds the store has ended all streams and forgotten the past. */
  cuts: number;
  /** How often a replica stood still while the others went on. Absent in a file of before. */
  freezes?: number;
  /** How many records nobody could judge in the end. Absent in a file of before. */
  aside?: number;
  /** How often a replica could judge a record only later, and ended its watches. Absent in a file of before. */
  late?: number;
  /** What was before is compacted from the beginning: a replica knows only what has happened since its start. */
  base: number;
  /** What went wrong while it was played: a watch that never came to rest, a store that did not open again. */
  troubles: string[];
  /** What nobody can judge, because the machine gave too little time to the store or to its reader. */
  unjudged: string[];
}

export interface Promises {
  /** A read without a revision shows every write that was acknowledged before it; otherwise only `fresh` reads do. */
  areReadsFresh: boolean;
  /** Revisions may skip numbers. A store with an external log also begins anywhere, and forgets when a replica starts anew. */
  hasGaps: boolean;
  canBeKilled: boolean;
  canBeFull: boolean;
  /** Its log is elsewhere, and the way there may be cut. */
  canBeCut: boolean;
}

export interface Violation {
  judge: string;
  what: string;
}

export function isWrite(operation: Operation): operation is Operation & { asked: Extract<Asked, { verb: 'write' }> } {
  return operation.asked.verb === 'write';
}
