// Lets a history name a long value by a short word: the store has the whole value, and the judges compare words.
import type { StoredRecord, StoreEvent } from '../../../../src/store/store.ts';
import type { Answered, Asked, Delivery } from '../history.ts';
import type { Reach } from '../subjects/subject.ts';

/** Two long ones are more than a watch or a page hands out at a time; a dozen vast ones are more than a store keeps at hand for its watches. */
const lengths: Readonly<Record<string, number>> = { '+long': 60_000, '+vast': 150_000 };

export function longWord(word: string): string {
  return `${word}+long`;
}

/** A store may end a page behind a vast value, so only those who put pages together can judge them. */
export function vastWord(word: string): string {
  return `${word}+vast`;
}

/** What the store has in place of a word. */
export function storedText(word: string): string {
  return word.padEnd(lengths[word.slice(-5)] ?? 0, '.');
}

/** A value that is not whole keeps its shape, so that no judge takes it for a word. */
export function wordOf(value: string): string {
  const word = value.replace(/\.+$/, '');
  return storedText(word) === value ? word : value;
}

export function withLongValues(reach: Reach): Reach {
  return {
    ask: async (asked) => inWords(await reach.ask(inValues(asked))),
    watch: (prefix, afterRevision, deliver) =>
      reach.watch(prefix, afterRevision, (delivery) => deliver(deliveryInWords(delivery))),
  };
}

function inValues(asked: Asked): Asked {
  return asked.verb === 'write' && asked.value !== undefined ? { ...asked, value: storedText(asked.value) } : asked;
}

function inWords(answered: Answered): Answered {
  switch (answered.kind) {
    case 'refused':
      return { ...answered, current: recordInWords(answered.current) };
    case 'record':
      return { ...answered, record: recordInWords(answered.record) };
    case 'page':
      return { ...answered, records: answered.records.map((record) => ({ ...record, value: wordOf(record.value) })) };
    case 'read':
      return { ...answered, records: answered.records.map((record) => recordInWords(record ?? undefined) ?? null) };
    default:
      return answered;
  }
}

function recordInWords(record: StoredRecord | undefined): StoredRecord | undefined {
  return record && { ...record, value: wordOf(record.value) };
}

function deliveryInWords(delivery: Delivery): Delivery {
  return delivery.kind === 'events' ? { ...delivery, events: delivery.events.map(eventInWords) } : delivery;
}

function eventInWords(event: StoreEvent): StoreEvent {
  const { value, previous } = event;
  return { ...event, value: wordOf(value), previous: previous && wordOf(previous) };
}
