// What the histories over HTTP went through, as the tally of stores counts it: a judge that has seen no bookmark and no refusal has judged nothing.

import { heldLength } from '../../../../src/apiserver/verbs/collect-records.ts';
import type { Violation } from '../history.ts';
import { storedText } from '../play/long-values.ts';
import type { HttpHistory } from './judge-http.ts';

const sights = {
  conflicts: 'a write refused because somebody else was first',
  deletes: 'a delete',
  pages: 'a second page',
  oldLists: 'a list of an old revision',
  tooOldLists: 'a list refused because of compaction',
  states: 'a watch that began with the present state',
  longStates: 'a watch that began with more than a server holds at a time',
  events: 'an event',
  bookmarks: 'a bookmark',
  left: 'a thing that left a selection while it lived on',
  tooOldWatches: 'a watch refused because of compaction',
} as const;

type Sight = keyof typeof sights;

export class HttpTally {
  readonly store = 'http';
  readonly seen = Object.fromEntries(Object.keys(sights).map((sight) => [sight, 0])) as Record<Sight, number>;
  readonly violations: (Violation & { seed: number })[] = [];
  readonly unjudged: { seed: number; what: string }[] = [];
  histories = 0;
  operations = 0;

  add(seed: number, history: HttpHistory, faults: readonly string[]): void {
    this.histories++;
    this.operations += history.writes.length + history.lists.length + history.watches.length;
    for (const what of history.unjudged) this.unjudged.push({ seed, what });
    for (const what of faults) this.violations.push({ judge: 'http', what, seed });
    for (const sight of sightsOf(history)) this.seen[sight]++;
  }

  get missed(): string[] {
    return Object.entries(sights)
      .filter(([name]) => this.seen[name as Sight] === 0)
      .map(([, sentence]) => sentence);
  }
}

function* sightsOf({ changes, writes, lists, watches }: HttpHistory): Generator<Sight> {
  for (const { verb, status } of writes) {
    if (status === 409) yield 'conflicts';
    if (verb === 'delete' && status < 300) yield 'deletes';
  }
  for (const { exact, pages, isTooOld } of lists) {
    if (isTooOld) yield 'tooOldLists';
    else if (exact !== undefined) yield 'oldLists';
    if (pages.length > 1) yield 'pages';
  }
  const deleted = new Set(changes.filter(({ thing }) => thing === undefined).map(({ revision }) => revision));
  for (const { lines } of watches) {
    const end = lines.findIndex((line) => line.type === 'BOOKMARK' && line.endsInitial);
    const first = lines.slice(0, Math.max(0, end)).flatMap((line) => ('thing' in line ? [line.thing.value] : []));
    const held = first.slice(0, -1).reduce((sum, word) => sum + storedText(word).length, 0);
    if (held > heldLength) yield 'longStates';
    for (const line of lines) {
      if (line.type === 'ERROR' && line.code === 410) yield 'tooOldWatches';
      if ('thing' in line) yield 'events';
      if (line.type === 'BOOKMARK') yield line.endsInitial ? 'states' : 'bookmarks';
      if (line.type === 'DELETED' && !deleted.has(line.thing.revision)) yield 'left';
    }
  }
}
