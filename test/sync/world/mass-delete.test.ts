import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics.ts';
import { hostName } from '../../../src/object/meta/names.ts';
import { type Key, keyOf } from '../../../src/object/meta/object.ts';
import { objectKeys } from '../../../src/sync/plan/keys/reserved-keys.ts';
import type { HostItem } from '../../../src/sync/plan/kind.ts';
import { MassDelete } from '../../../src/sync/world/doubt/mass-delete.ts';
import type { World } from '../../../src/sync/world/world.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { copyWith, translation } from '../facts.ts';

/** Two full turns and a rest. */
const many = 4_500;

const keyAt = (at: number): Key => `default/o${at}`;
const nameAt = (at: number) => hostName({ namespace: 'default', name: `o${at}` }, 'vc');

function copyAt(at: number, sample: HostItem): HostItem {
  const named = { [objectKeys.name]: `o${at}`, [objectKeys.hostName]: nameAt(at) };
  return { ...sample, name: nameAt(at), annotations: { ...sample.annotations, ...named } };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

function opened(others = { deletes: 0, copies: 0 }, copies = many) {
  const sample = copyWith();
  const host = new Map<string, HostItem>();
  const virtual = new Set<Key>();
  for (let at = 0; at < copies; at++) {
    host.set(keyOf('vcluster-vc', nameAt(at)), copyAt(at, sample));
    virtual.add(keyAt(at));
  }
  const relists: string[] = [];
  const enqueued: Key[] = [];
  const relist = async (why: string) => {
    relists.push(why);
    await turn();
  };
  /** The server has them, and its lists lack them. */
  const hidden = new Set<Key>();
  const find = async (key: Key) => (virtual.has(key) || hidden.has(key) ? 'found' : 'absent');
  const window = { has: (key: Key) => virtual.has(key), relist, find };
  // The server has them all, whatever its lists say.
  const reallyThere = new Set(virtual);
  const services = { present: new Set(virtual), asked: [] as Key[] };
  const serviceWindow = {
    has: (key: Key) => services.present.has(key),
    relist,
    find: async (key: Key) => {
      services.asked.push(key);
      return reallyThere.has(key) ? 'found' : 'absent';
    },
  };
  const world = {
    windows: {
      virtual: window,
      services: serviceWindow,
      host: {
        keys: () => host.keys(),
        get: (key: string) => host.get(key),
        has: (key: string) => host.has(key),
        markOf: (key: string) => {
          const item = host.get(key);
          return item && `default/${item.annotations?.[objectKeys.name]}`;
        },
        get size() {
          return host.size;
        },
      },
    },
    rules: { translation },
    serviceKeyOf: (key: Key) => (virtual.has(key) ? key : undefined),
    hasService: (key: Key) => services.present.has(key),
    placeOf: (key: Key) => translation.placement.placeOf(key),
  } as unknown as World;
  const clock = new VirtualClock();
  const options = { world, clock, random: () => 0.5, log: silentLog, metrics: createMetrics() };
  const guarded = new MassDelete({ ...options, enqueue: (key) => void enqueued.push(key), others: () => others });
  return { clock, guarded, virtual, hidden, services, reallyThere, relists, enqueued };
}

describe('the first lists', () => {
  it('are judged in several turns of the event loop, and suspect no key before the last one', async () => {
    const { guarded, virtual, enqueued } = opened();
    for (let at = 0; at < 30; at++) virtual.delete(keyAt(at));
    let isOver = false;
    const judged = guarded.judgeFirstLists().then(() => {
      isOver = true;
    });
    let turns = 0;
    for (; !isOver; turns++) {
      expect([guarded.guard.size, enqueued]).toEqual([0, []]);
      await turn();
    }
    await judged;
    expect(turns).toBeGreaterThanOrEqual(2);
    expect(enqueued).toHaveLength(30);
  });

  it('do not suspect an object that comes while they are judged', async () => {
    const { guarded, virtual, enqueued } = opened();
    for (let at = 0; at < 30; at++) virtual.delete(keyAt(at));
    const judged = guarded.judgeFirstLists();
    for (let at = 0; at < 20; at++) {
      virtual.add(keyAt(at));
      guarded.noteChange(keyAt(at), 'objects', { isAbsentFromList: false });
    }
    await judged;
    expect(enqueued.toSorted()).toEqual(Array.from({ length: 10 }, (_, at) => keyAt(at + 20)).toSorted());
  });

  it('ask for second lists when they lack many objects, although each turn saw few of them', async () => {
    const { clock, guarded, virtual, relists, enqueued } = opened();
    for (let at = 0; at < many; at += 90) virtual.delete(keyAt(at));
    virtual.delete(keyAt(1));
    await guarded.judgeFirstLists();
    expect(enqueued).toEqual([]);
    await clock.advance(9_999);
    expect(relists).toEqual([]);
    await clock.advance(1);
    expect(relists).toEqual(['confirm a mass delete']);
    expect(enqueued).toHaveLength(51);
  });

  it('let objects that came back and went again wait for ten seconds of their own', async () => {
    const { clock, guarded, virtual, reallyThere, enqueued } = opened();
    const note = (from: number, to: number, isAbsentFromList: boolean) => {
      for (let at = from; at < to; at++) {
        virtual[isAbsentFromList ? 'delete' : 'add'](keyAt(at));
        guarded.noteChange(keyAt(at), 'objects', { isAbsentFromList });
      }
    };
    reallyThere.clear();
    note(0, 120, true);
    guarded.judgeList('objects');
    await clock.advance(7_000);
    note(0, 60, false);
    await clock.advance(1_000);
    note(0, 60, true);
    await clock.advance(2_000);
    expect([new Set(enqueued), guarded.guard.size]).toEqual([
      new Set(Array.from({ length: 60 }, (_, at) => keyAt(60 + at))),
      60,
    ]);
    await clock.advance(10_000);
    expect([new Set(enqueued).size, guarded.guard.size]).toEqual([120, 0]);
  });
});

// A slice names its Service itself: while its own list lacks it, nobody knows which Service to ask for.
describe('a list of Services that is in doubt together with the list of objects', () => {
  async function bothLack(count: number) {
    const stage = opened();
    const { clock, guarded, services, virtual } = stage;
    await guarded.judgeFirstLists();
    for (let at = 0; at < count; at++) {
      services.present.delete(keyAt(at));
      guarded.noteChange(keyAt(at), 'services', { isAbsentFromList: true });
    }
    guarded.judgeList('services');
    await clock.advance(5_000);
    for (let at = 0; at < count; at++) {
      virtual.delete(keyAt(at));
      guarded.noteChange(keyAt(at), 'objects', { isAbsentFromList: true });
    }
    guarded.judgeList('objects');
    return stage;
  }

  it('is not believed because none of its Services can be named, and is a lie when the objects are back', async () => {
    const { clock, guarded, services, virtual, enqueued } = await bothLack(60);
    await clock.advance(6_000);
    for (let at = 0; at < 60; at++) {
      virtual.add(keyAt(at));
      guarded.noteChange(keyAt(at), 'objects', { isAbsentFromList: false });
    }
    await clock.advance(60_000);
    expect(enqueued).toEqual([]);
    expect(guarded.guard.size).toBe(60);
    expect(guarded.doubts).toMatchObject([{ list: 'Service', isLie: true }]);
    for (let at = 0; at < 60; at++) {
      services.present.add(keyAt(at));
      guarded.noteChange(keyAt(at), 'services', { isAbsentFromList: false });
    }
    await clock.advance(120_000);
    expect([guarded.guard.size, guarded.doubts]).toEqual([0, []]);
  });

  it('is believed when the objects are gone for good', async () => {
    const { clock, guarded, enqueued, services, reallyThere } = await bothLack(60);
    reallyThere.clear();
    await clock.advance(120_000);
    expect(services.asked).toEqual([]);
    expect(new Set(enqueued).size).toBe(60);
    expect([guarded.guard.size, guarded.doubts]).toEqual([0, []]);
  });

  it('hides no Service behind the objects that the other list holds back already', async () => {
    const { clock, guarded, services, virtual, enqueued } = opened();
    await guarded.judgeFirstLists();
    for (let at = 0; at < 60; at++) {
      virtual.delete(keyAt(at));
      guarded.noteChange(keyAt(at), 'objects', { isAbsentFromList: true });
    }
    guarded.judgeList('objects');
    // The list of Services lacks many, but only one of them has an object that is still known.
    services.present.delete(keyAt(60));
    guarded.noteChange(keyAt(60), 'services', { isAbsentFromList: true });
    guarded.judgeList('services');
    await clock.advance(60_000);
    expect(enqueued).not.toContain(keyAt(60));
    expect(guarded.doubts).toContainEqual(expect.objectContaining({ list: 'Service', isLie: true }));
  });

  it('still holds the objects that are back before their Services', async () => {
    const { clock, guarded, services, virtual, enqueued } = opened();
    await guarded.judgeFirstLists();
    for (let at = 0; at < 60; at++) {
      virtual.delete(keyAt(at));
      guarded.noteChange(keyAt(at), 'objects', { isAbsentFromList: true });
      services.present.delete(keyAt(at));
    }
    guarded.judgeList('objects');
    await clock.advance(6_000);
    for (let at = 0; at < 60; at++) {
      virtual.add(keyAt(at));
      guarded.noteChange(keyAt(at), 'objects', { isAbsentFromList: false, isListed: true });
    }
    expect(guarded.guard.size).toBe(60);
    guarded.judgeList('objects');
    await clock.advance(60_000);
    expect([enqueued, guarded.guard.size]).toEqual([[], 60]);
    expect(guarded.doubts).toMatchObject([{ list: 'Service', isLie: true }]);
  });

  it('lets an object go that is back without its Service, after one list more', async () => {
    const { clock, guarded, services, virtual, reallyThere, enqueued } = opened();
    await guarded.judgeFirstLists();
    virtual.delete(keyAt(0));
    guarded.noteChange(keyAt(0), 'objects', { isAbsentFromList: true });
    services.present.delete(keyAt(0));
    reallyThere.delete(keyAt(0));
    virtual.add(keyAt(0));
    guarded.noteChange(keyAt(0), 'objects', { isAbsentFromList: false, isListed: true });
    guarded.judgeList('objects');
    expect(enqueued).toEqual([]);
    await clock.advance(11_000);
    expect([enqueued, guarded.guard.size, guarded.doubts]).toEqual([[keyAt(0)], 0, []]);
  });
});

describe('a list of Services that is in doubt for another kind', () => {
  it('is no evidence for this one', async () => {
    const { clock, guarded, services, enqueued } = opened({ deletes: 3, copies: 4 });
    await guarded.judgeFirstLists();
    for (let at = 0; at < 49; at++) {
      services.present.delete(keyAt(at));
      guarded.noteChange(keyAt(at), 'services', { isAbsentFromList: true });
    }
    guarded.judgeList('services');
    await clock.advance(30_000);
    expect([enqueued, guarded.guard.size]).toEqual([[], 49]);
  });
});

// A share of one object means nothing, and its copy shall not wait for ten seconds when it is really gone.
describe('a list that lacks one of few objects', () => {
  const few = () => opened({ deletes: 0, copies: 0 }, 4);
  const lack = ({ virtual, guarded }: ReturnType<typeof opened>, key: Key) => {
    virtual.delete(key);
    guarded.noteChange(key, 'objects', { isAbsentFromList: true });
    guarded.judgeList('objects');
  };

  it('is believed at once when the server has no such object', async () => {
    const stage = few();
    await stage.guarded.judgeFirstLists();
    lack(stage, keyAt(0));
    await turn();
    expect([stage.enqueued, stage.guarded.guard.size, stage.guarded.doubts]).toEqual([[keyAt(0)], 0, []]);
  });

  it('is a lie when the server has the object, after a start too', async () => {
    for (const isFirst of [true, false]) {
      const stage = few();
      stage.hidden.add(keyAt(0));
      if (isFirst) stage.virtual.delete(keyAt(0));
      await stage.guarded.judgeFirstLists();
      if (!isFirst) lack(stage, keyAt(0));
      await stage.clock.advance(60_000);
      expect([stage.enqueued, stage.guarded.guard.size]).toEqual([[], 1]);
      expect(stage.guarded.doubts).toMatchObject([{ list: 'Endpoints', deletes: 1, isLie: true }]);
      stage.virtual.add(keyAt(0));
      stage.guarded.noteChange(keyAt(0), 'objects', { isAbsentFromList: false });
      await stage.clock.advance(120_000);
      expect([stage.enqueued, stage.guarded.guard.size, stage.guarded.doubts]).toEqual([[], 0, []]);
    }
  });

  it('and its Service too is believed at once, when neither is there', async () => {
    const stage = few();
    const { guarded, services, enqueued } = stage;
    await guarded.judgeFirstLists();
    services.present.delete(keyAt(0));
    stage.reallyThere.delete(keyAt(0));
    stage.virtual.delete(keyAt(0));
    guarded.noteChange(keyAt(0), 'services', { isAbsentFromList: true });
    guarded.noteChange(keyAt(0), 'objects', { isAbsentFromList: true });
    guarded.judgeList('services');
    guarded.judgeList('objects');
    await turn();
    expect([enqueued, guarded.guard.size, guarded.doubts]).toEqual([[keyAt(0)], 0, []]);
  });

  it('is doubted like a list that lacks many when it lacks two', async () => {
    const stage = few();
    const { clock, virtual, guarded, enqueued, relists } = stage;
    await guarded.judgeFirstLists();
    virtual.delete(keyAt(1));
    guarded.noteChange(keyAt(1), 'objects', { isAbsentFromList: true });
    lack(stage, keyAt(0));
    await clock.advance(9_999);
    expect([enqueued, relists]).toEqual([[], []]);
    await clock.advance(1);
    expect(new Set(enqueued)).toEqual(new Set([keyAt(0), keyAt(1)]));
  });
});
