// Lets a history name a long value by a short word: the store has the whole value, and the judges compare words.
import type { StoredRecord, StoreEvent } from '../../../../src/store/store.ts';
import type { Answered, Asked, Delivery } from '../history.ts';
import type { Reach } from '../subjects/subject.ts';

const mark = '+long';
/** Two of them are more than a watch hands out at a time. */
const length = 40_000;

export function longWord(word: string): string {
  return `${word}${mark}`;
}

/** What the store has in place of a word. */
function stored(word: string | undefined): string | undefined {
  return word?.endsWith(mark) ? word.padEnd(length, '.') : word;
}

/** A value that is not whole keeps its shape, so that no judge takes it for a word. */
function wordOf(value: string): string {
  const word = value.replace(/\.+$/, '');
  return stored(word) === value ? word : value;
}

export function withLongValues(reach: Reach): Reach {
  return {
    ask: async (asked) => inWords(await reach.ask(inValues(asked))),
    watch: (prefix, afterRevision, deliver) =>
      reach.watch(prefix, afterRevision, (delivery) => deliver(deliveryInWords(delivery))),
  };
}

function inValues(asked: Asked): Asked {
  return asked.verb === 'write' ? { ...asked, value: stored(asked.value) } : asked;
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
