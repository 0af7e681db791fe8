// The log as people saw it: every change whose revision somebody learned, from the answer to its write, a watch, or a record that was read.
// Two stories about one revision are a violation by themselves.
import type { StoredRecord, StoreEvent } from '../../../../src/store/store.ts';
import { type History, isWrite, type Violation } from '../history.ts';

export interface Change {
  revision: number;
  key: string;
  /** Undefined for a delete. */
  value: string | undefined;
  /** Its writer got the answer. */
  isAcknowledged: boolean;
  /** A watch told of it. */
  isWatched: boolean;
}

export class KnownLog {
  readonly violations: Violation[] = [];
  /** Keys that were removed at a revision which nobody learned. */
  readonly removedSomewhere = new Set<string>();
  #byRevision = new Map<number, Change>();
  #byValue = new Map<string, Change>();
  #isCut: boolean;

  constructor(history: History) {
    this.#isCut = history.cuts > 0;
    for (const operation of history.operations) {
      const { answered } = operation;
      if (isWrite(operation) && answered.kind === 'written') {
        const { key, value } = operation.asked;
        this.#learn({ revision: answered.revision, key, value, isAcknowledged: true, isWatched: false });
      }
      if (answered.kind === 'refused') this.#learnRecord(answered.current);
      if (answered.kind === 'record') this.#learnRecord(answered.record);
      if (answered.kind === 'read') for (const record of answered.records) this.#learnRecord(record ?? undefined);
      if (answered.kind === 'page') for (const record of answered.records) this.#learnRecord(record);
    }
    for (const { deliveries } of history.watches)
      for (const { delivery } of deliveries)
        if (delivery.kind === 'events') for (const event of delivery.events) this.#learnEvent(event);
    if (this.#isCut) this.#forgetGuesses();
  }

  /** In the order of their revisions. */
  get changes(): Change[] {
    return [...this.#byRevision.values()].sort((one, other) => one.revision - other.revision);
  }

  /** Values are written once, so that a value names its write. */
  revisionOf(value: string): number | undefined {
    return this.#byValue.get(value)?.revision;
  }

  /** The answer to a removal whose event was missed names a revision behind it, at which no watch has an event. */
  #forgetGuesses(): void {
    for (const change of [...this.#byRevision.values()]) {
      if (!isAnsweredRemoval(change) || change.isWatched) continue;
      this.removedSomewhere.add(change.key);
      this.#byRevision.delete(change.revision);
    }
  }

  #learnRecord(record: StoredRecord | undefined): void {
    if (record !== undefined) this.#learn({ ...record, isAcknowledged: false, isWatched: false });
  }

  #learnEvent({ type, revision, key, value }: StoreEvent): void {
    const now = type === 'delete' ? undefined : value;
    this.#learn({ revision, key, value: now, isAcknowledged: false, isWatched: true });
  }

  #learn(change: Change): void {
    const known = this.#byRevision.get(change.revision);
    if (known === undefined) {
      this.#byRevision.set(change.revision, change);
      if (change.value !== undefined) this.#learnValue(change.value, change);
      return;
    }
    // As below, where what stands behind the missed removal is another removal of the key.
    if (this.#isCut && isAnsweredRemoval(known) && isAnsweredRemoval(change) && known.key === change.key)
      this.removedSomewhere.add(change.key);
    if (change.isAcknowledged) known.isAcknowledged = true;
    if (known.key === change.key && known.value === change.value) {
      known.isWatched ||= change.isWatched;
      return;
    }
    // A store that has missed the event of a removal can only answer with a revision behind it.
    if (this.#isCut && (isAnsweredRemoval(known) || isAnsweredRemoval(change))) {
      const [removal, other] = isAnsweredRemoval(known) ? [known, change] : [change, known];
      this.removedSomewhere.add(removal.key);
      this.#byRevision.set(change.revision, other);
      if (other === change && change.value !== undefined) this.#learnValue(change.value, change);
      return;
    }
    this.violations.push({
      judge: 'unique',
      what: `revision ${change.revision} is two changes: ${told(known)}, and ${told(change)}`,
    });
  }

  #learnValue(value: string, change: Change): void {
    const known = this.#byValue.get(value);
    if (known !== undefined)
      this.violations.push({
        judge: 'unique',
        what: `the one write of ${JSON.stringify(value)} has two revisions, ${known.revision} and ${change.revision}`,
      });
    this.#byValue.set(value, change);
  }
}

function isAnsweredRemoval({ value, isAcknowledged }: Change): boolean {
  return value === undefined && isAcknowledged;
}

export function told({ key, value }: { key: string; value: string | undefined }): string {
  return value === undefined ? `${key} deleted` : `${key} = ${JSON.stringify(value)}`;
}
