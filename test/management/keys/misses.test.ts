// A key that is unknown to a replica may have been made on another one a moment ago.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StatusFault } from '../../../src/apiserver/request/status-fault.ts';
import { silentLog } from '../../../src/log.ts';
import { Misses } from '../../../src/management/keys/callers/misses.ts';
import { StoreFault } from '../../../src/store/errors.ts';
import { Followers } from '../../../src/store/follow/follower.ts';
import { DistantStore } from '../../store/distant-store.ts';
import { VirtualClock } from '../../virtual-clock.ts';

let clock: VirtualClock;
let store: DistantStore;
let followers: Followers;
let misses: Misses;
/** How often the store was asked for what is newest. */
let asked: number;
let isAway: boolean;
beforeEach(async () => {
  clock = new VirtualClock();
  store = new DistantStore({ clock });
  await store.start();
  followers = new Followers({ store, clock, log: silentLog });
  asked = 0;
  isAway = false;
  const newest = async () => {
    asked++;
    if (isAway) throw new Error('the host is away');
    return store.currentRevision();
  };
  misses = new Misses({ store: { currentRevision: newest }, followers, clock });
});
afterEach(() => store.stop());

/** What whoever sends the key is told: nothing, so that the key is judged once more, or a Status. */
async function told(source: string, isFormer = false): Promise<unknown> {
  try {
    await misses.look(source, () => isFormer);
    return 'judge it';
  } catch (fault) {
    if (!(fault instanceof StatusFault)) throw fault;
    const { code, details } = fault.status;
    return [code, details?.retryAfterSeconds];
  }
}

async function times(count: number, source: (at: number) => string): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let at = 0; at < count; at++) all.push(await told(source(at)));
  return all;
}

describe('a look for an unknown key', () => {
  it('asks the store each time, because nobody remembers that the key was unknown', async () => {
    expect(await times(3, () => '192.0.2.1')).toEqual(Array(3).fill('judge it'));
    expect(asked).toBe(3);
  });

  it('is refused to a source beyond twenty at once and two a second, with 503 and a time, and the store is not asked', async () => {
    expect(await times(22, () => '192.0.2.1')).toEqual([...Array(20).fill('judge it'), [503, 1], [503, 1]]);
    expect(asked).toBe(20);
    expect(await told('192.0.2.2')).toBe('judge it');
    await clock.advance(1_000);
    expect(await times(3, () => '192.0.2.1')).toEqual(['judge it', 'judge it', [503, 1]]);
  });

  it('is refused to all beyond two hundred at once, with 503 and never as a bad key', async () => {
    const all = await times(203, (at) => `192.0.2.${at % 100}`);
    expect(all).toEqual([...Array(200).fill('judge it'), ...Array(3).fill([503, 1])]);
    expect(asked).toBe(200);
  });

  it('is left out beyond the limits for a value that has ended here', async () => {
    await times(20, () => '192.0.2.1');
    expect(await told('192.0.2.1', true)).toBe('judge it');
    expect(asked).toBe(20);
  });

  it('is 503 while the store cannot be asked', async () => {
    isAway = true;
    expect(await told('192.0.2.1')).toEqual([503, 1]);
  });

  it('is 503 while what the store has said is not known here', async () => {
    const follower = followers.of({ prefix: '/keys/', what: 'keys', found: () => undefined, changed: () => undefined });
    await follower.start();
    expect(await told('192.0.2.1')).toBe('judge it');
    const list = store.list.bind(store);
    store.list = () => Promise.reject(new StoreFault('STORE_HOST_FAILED', 'no way to the host'));
    await store.miss('/keys/made-elsewhere', '{}');
    expect(await told('192.0.2.1')).toEqual([503, 1]);
    store.list = list;
    await clock.advance(200);
    expect(await told('192.0.2.1')).toBe('judge it');
    await follower.stop();
  });
});
