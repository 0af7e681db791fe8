import { describe, expect, it } from 'vitest';
import type { StoreEvent } from '../../../src/store/store.ts';
import type { Answered, Asked, Delivery, History, Operation, Watched } from './history.ts';
import { judge } from './judges/judge.ts';

const promises = { areReadsFresh: true, hasGaps: false, canBeKilled: true, canBeFull: true, canBeCut: false };

/** `[from, to]` are the moments of the call and the return. */
const did = ([calledAt, returnedAt]: [number, number], asked: Asked, answered: Answered): Operation => ({
  client: calledAt,
  asked,
  answered,
  calledAt,
  returnedAt,
});
const write = (key: string, value: string | undefined, expect?: number): Asked => ({
  verb: 'write',
  key,
  expect,
  value,
});
const written = (revision: number, createRevision = revision): Answered => ({
  kind: 'written',
  revision,
  createRevision,
});
const lost: Answered = { kind: 'unknown', why: 'killed' };
const get = (key: string): Asked => ({ verb: 'get', key, isFresh: true });
const none = (revision: number): Answered => ({ kind: 'record', record: undefined, revision });
const shown = (key: string, value: string, at: number, revision = at): Answered => ({
  kind: 'record',
  record: { key, value, revision: at, createRevision: at },
  revision,
});
const put = (revision: number, key: string, value: string, more: Partial<StoreEvent> = {}): StoreEvent => ({
  type: 'put',
  key,
  revision,
  value,
  previous: undefined,
  createRevision: revision,
  ...more,
});
const events = (...all: StoreEvent[]): Delivery => ({ kind: 'events', events: all });

function judgesOf(operations: Operation[], watches: Partial<Watched>[] = [], more: Partial<History> = {}): string[] {
  const history: History = {
    ...{ store: 'by hand', seed: 0, promises, operations, kills: 0, cuts: 0, base: 0, troubles: [], unjudged: [] },
    watches: watches.map((one) => ({
      ...{ client: 0, prefix: '/', afterRevision: 0, calledAt: 100, returnedAt: 101, isResumed: false, deliveries: [] },
      ...one,
    })),
    ...more,
  };
  return [...new Set(judge(history).map((one) => one.judge))].sort();
}
const deliveries = (...all: Delivery[]) => all.map((delivery, nth) => ({ at: 110 + nth, delivery }));

describe('judge() of operations', () => {
  const first = did([0, 1], write('/a', 'x', 0), written(1));
  const cases: [string, Operation[], string[]][] = [
    [
      'accepts reads on either side of a write that they overlap',
      [
        did([0, 9], write('/a', 'x', 0), written(1)),
        did([1, 2], get('/a'), none(0)),
        did([3, 4], get('/a'), shown('/a', 'x', 1)),
      ],
      [],
    ],
    ['finds a read that misses an acknowledged write', [first, did([2, 3], get('/a'), none(0))], ['linearizable']],
    [
      'finds a reader that goes back',
      [
        did([0, 9], write('/a', 'x', 0), written(1)),
        did([1, 2], get('/a'), shown('/a', 'x', 1)),
        did([3, 4], get('/a'), none(0)),
      ],
      ['linearizable'],
    ],
    ['finds two writers that were both first', [first, did([2, 3], write('/a', 'y', 0), written(2))], ['linearizable']],
    [
      'finds a refusal of a write that was right',
      [
        first,
        did([2, 3], write('/a', 'y', 1), {
          kind: 'refused',
          current: { key: '/a', value: 'x', revision: 1, createRevision: 1 },
          revision: 1,
        }),
      ],
      ['linearizable'],
    ],
    [
      'finds a refusal that shows another record than there is',
      [first, did([2, 3], write('/a', 'y', 0), { kind: 'refused', current: undefined, revision: 1 })],
      ['linearizable'],
    ],
    ['finds a number that was left out', [first, did([2, 3], write('/b', 'y', 0), written(3))], ['linearizable']],
    [
      'finds an update that forgets when the object was made',
      [first, did([2, 3], write('/a', 'y', 1), written(2, 2))],
      ['linearizable'],
    ],
    [
      'accepts a lost write that happened',
      [did([0, 1], write('/a', 'x', 0), lost), did([2, 3], get('/a'), shown('/a', 'x', 1))],
      [],
    ],
    [
      'accepts a lost write that did not happen',
      [did([0, 1], write('/a', 'x', 0), lost), did([2, 3], get('/a'), none(0))],
      [],
    ],
    [
      'accepts a lost write that happened late',
      [
        did([0, 1], write('/a', 'x', 0), lost),
        did([2, 3], get('/a'), none(0)),
        did([4, 5], get('/a'), shown('/a', 'x', 1)),
      ],
      [],
    ],
    [
      'accepts a lost write that was overwritten unseen',
      [did([0, 1], write('/a', 'x', 0), lost), did([2, 3], write('/a', 'y'), written(2, 1))],
      [],
    ],
    [
      'finds a lost write that happened before it was asked',
      [did([0, 1], get('/a'), shown('/a', 'x', 1)), did([2, 3], write('/a', 'x', 0), lost)],
      ['linearizable'],
    ],
    ['finds a record that nobody wrote', [first, did([2, 3], get('/b'), shown('/b', 'z', 2))], ['linearizable']],
    [
      'finds two changes of one revision',
      [first, did([2, 3], write('/b', 'y', 0), written(1))],
      ['linearizable', 'unique'],
    ],
    [
      'accepts numbers with gaps where the store has them',
      [did([0, 1], write('/a', 'x', 0), written(4)), did([2, 3], write('/b', 'y', 0), written(9))],
      [],
    ],
  ];
  it.each(cases)('%s', (claim, operations, judges) => {
    const hasGaps = claim.includes('gaps');
    expect(judgesOf(operations, [], { promises: { ...promises, hasGaps } })).toEqual(judges);
  });

  it('lets a store that may lag answer from the past, but not back in time', () => {
    const promised = { promises: { ...promises, areReadsFresh: false } };
    const lagging: Asked = { verb: 'get', key: '/a', isFresh: false };
    const one = (at: [number, number], answered: Answered) => ({ ...did(at, lagging, answered), client: 1 });
    expect(judgesOf([first, one([2, 3], none(0)), one([4, 5], shown('/a', 'x', 1))], [], promised)).toEqual([]);
    expect(judgesOf([first, one([2, 3], shown('/a', 'x', 1)), one([4, 5], none(0))], [], promised)).toEqual(['time']);
    const own = { ...first, client: 1 };
    expect(judgesOf([own, one([2, 3], none(0))], [], promised)).toEqual(['time']);
  });

  it('wants a record to be that of the revision beside it, because a reader watches from there', () => {
    const promised = { promises: { ...promises, areReadsFresh: false } };
    const second = did([2, 3], write('/a', 'y', 1), written(2, 1));
    expect(judgesOf([first, second, did([1, 9], get('/a'), shown('/a', 'x', 1))], [], promised)).toEqual([]);
    expect(judgesOf([first, second, did([1, 9], get('/a'), shown('/a', 'x', 1, 2))], [], promised)).toEqual(['state']);
    const removed = did([2, 3], write('/a', undefined, 1), written(2, 1));
    expect(judgesOf([first, removed, did([1, 9], get('/a'), none(2))], [], promised)).toEqual([]);
    expect(judgesOf([first, removed, did([1, 9], get('/a'), none(1))], [], promised)).toEqual(['state']);
    // The revision of a removal that nobody heard of is not known.
    const cut = { promises: { ...promises, areReadsFresh: false, hasGaps: true }, cuts: 1 };
    expect(judgesOf([first, removed, did([1, 9], get('/a'), none(1))], [], cut)).toEqual([]);
  });

  it('takes the answer to a missed removal for no more than a bound, also where another removal of the key stands at it', () => {
    const cut = { promises: { ...promises, areReadsFresh: false, hasGaps: true }, cuts: 1 };
    const missed = did([2, 20], write('/a', undefined, 1), written(4, 1));
    const again = did([5, 6], write('/a', 'z', 0), written(3));
    const last = did([7, 8], write('/a', undefined, 3), written(4, 3));
    const gone = put(4, '/a', 'z', { type: 'delete', previous: 'z', createRevision: 3 });
    const watch = { afterRevision: 2, deliveries: deliveries(events(put(3, '/a', 'z'), gone)) };
    expect(judgesOf([first, missed, again, last], [watch], cut)).toEqual([]);
    expect(judgesOf([first, again, last], [watch], cut)).not.toEqual([]);
  });

  it('knows the revision of a write without an answer also where the answer to a missed removal names it', () => {
    const cut = { promises: { ...promises, areReadsFresh: false, hasGaps: true }, cuts: 1 };
    const missed = did([2, 20], write('/a', undefined, 1), written(3, 1));
    const lost = did([3, 4], write('/b', 'z', 0), { kind: 'unknown', why: 'killed' });
    const read = did([5, 6], get('/b'), shown('/b', 'z', 3));
    expect(judgesOf([first, missed, lost, read], [], cut)).toEqual([]);
    expect(judgesOf([first, missed, lost, did([5, 6], get('/b'), shown('/b', 'y', 3))], [], cut)).not.toEqual([]);
  });
});

describe('judge() of pages', () => {
  const log = [
    did([0, 1], write('/a', 'x', 0), written(1)),
    did([2, 3], write('/b', 'y', 0), written(2)),
    did([4, 5], write('/a', undefined, 1), written(3, 1)),
  ];
  const records = {
    a: { key: '/a', value: 'x', revision: 1, createRevision: 1 },
    b: { key: '/b', value: 'y', revision: 2, createRevision: 2 },
  };
  const page = (asked: Partial<Extract<Asked, { verb: 'list' }>>, answered: Answered) =>
    judgesOf([...log, did([6, 7], { verb: 'list', prefix: '/', ...asked }, answered)]);
  it('wants the state at the revision, the number that remains, and the truth about what there is', () => {
    const first: Answered = { kind: 'page', records: [records.a], revision: 2, hasMore: true, remaining: 1 };
    expect(page({ atRevision: 2, limit: 1 }, first)).toEqual([]);
    expect(page({ atRevision: 2, limit: 1 }, { ...first, remaining: 2 })).toEqual(['page']);
    expect(page({ atRevision: 2, limit: 1 }, { ...first, hasMore: false })).toEqual(['page']);
    expect(page({ atRevision: 2 }, { ...first, records: [records.b], hasMore: false, remaining: 0 })).toEqual(['page']);
    expect(page({ atRevision: 2 }, { kind: 'compacted', compactedRevision: 3 })).toEqual(['compacted']);
    expect(page({ atRevision: 2 }, { kind: 'futureRevision', currentRevision: 1 })).toEqual(['future']);
    expect(page({ atRevision: 9 }, { kind: 'futureRevision', currentRevision: 3 })).toEqual([]);
  });
});

describe('judge() of watches', () => {
  const log = [
    did([0, 1], write('/a', 'x', 0), written(1)),
    did([2, 3], write('/a', 'y', 1), written(2, 1)),
    did([4, 5], write('/b', 'z', 0), written(3)),
  ];
  const one = put(1, '/a', 'x');
  const two = put(2, '/a', 'y', { previous: 'x', createRevision: 1 });
  const three = put(3, '/b', 'z');
  const cases: [string, Partial<Watched>, string[]][] = [
    ['accepts all events in order', { deliveries: deliveries(events(one, two), events(three)), owes: 3 }, []],
    ['wants them in order', { deliveries: deliveries(events(one), events(three), events(two)) }, ['ordered']],
    ['wants each once', { deliveries: deliveries(events(one, one, two, three)) }, ['unique']],
    [
      'wants one revision in one piece',
      { deliveries: deliveries(events(one), events(one, two, three)) },
      ['atomic', 'unique'],
    ],
    ['wants none left out', { deliveries: deliveries(events(one), events(three)) }, ['reliable']],
    ['wants the last ones too', { deliveries: deliveries(events(one)), owes: 3 }, ['reliable']],
    [
      'wants it to go on right behind where it was told',
      { afterRevision: 1, deliveries: deliveries(events(three)) },
      ['resumable'],
    ],
    ['wants no refusal of what was not compacted', { afterRevision: 1, compactedRevision: 2 }, ['resumable']],
    [
      'wants no bookmark before its events',
      { deliveries: deliveries(events(one), { kind: 'bookmark', revision: 2 }, events(two, three)) },
      ['bookmarkable'],
    ],
    [
      'wants the value before the change',
      { deliveries: deliveries(events(one, { ...two, previous: 'w' }, three)) },
      ['previous'],
    ],
    [
      'wants the revision that made the object',
      { deliveries: deliveries(events(one, { ...two, createRevision: 2 }, three)) },
      ['previous'],
    ],
    [
      'wants no end as too slow without a compaction',
      { deliveries: deliveries({ kind: 'end', how: 'overflow' }) },
      ['reliable'],
    ],
    ['wants only its prefix', { prefix: '/a', deliveries: deliveries(events(one, two, three)) }, ['atomic']],
  ];
  it.each(cases)('%s', (_, watched, judges) => {
    expect(judgesOf(log, [watched])).toEqual(judges);
  });

  it('allows that a replica forgets what was before a record which it has judged late, and no other store', () => {
    const refused = { afterRevision: 1, compactedRevision: 2 };
    const ofReplicas = { promises: { ...promises, hasGaps: true }, late: 1 };
    expect(judgesOf(log, [refused], ofReplicas)).toEqual([]);
    expect(judgesOf(log, [refused], { ...ofReplicas, late: 0 })).toEqual(['resumable']);
    expect(judgesOf(log, [refused], { late: 1 })).toEqual(['resumable']);
  });
});
