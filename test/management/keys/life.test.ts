import { describe, expect, it } from 'vitest';
import { Activity, flushWindowMs } from '../../../src/management/keys/life/activity.ts';
import { credentialOf, type KeyWorld } from '../../../src/management/keys/life/credential.ts';
import { expiryOf, isDueForRemoval, isExpired } from '../../../src/management/keys/life/expiry.ts';
import { keyFacts } from '../../../src/management/keys/life/key-facts.ts';
import type { KeyRecord } from '../../../src/management/keys/secret/key-record.ts';
import { isNarrower, networkFaults, sourceNetworks } from '../../../src/management/scope/patterns/source-networks.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { shop } from '../scope/scopes.ts';

describe('the end of a key', () => {
  const fixed = { creationMs: 1000, ttl: 10, afterLastActivity: false };
  const sliding = { ...fixed, afterLastActivity: true };
  it.each([
    [fixed, undefined, 11_000],
    [fixed, 5000, 11_000],
    [sliding, undefined, 11_000],
    [sliding, 5000, 15_000],
    [sliding, 500, 10_500],
    [{ ...sliding, ttl: 0 }, 5000, undefined],
  ])('%j last used %s: %s', (times, last, expiry) => {
    expect(expiryOf(times, last)).toBe(expiry);
  });

  it('includes its own millisecond', () => {
    expect([10_999, 11_000].map((now) => isExpired(fixed, undefined, now))).toEqual([false, true]);
    expect(isExpired({ ...fixed, ttl: 0 }, undefined, Number.MAX_SAFE_INTEGER)).toBe(false);
  });

  it('is followed by seven days in which it can be read', () => {
    const week = 7 * 86_400_000;
    expect([11_000 + week - 1, 11_000 + week].map((now) => isDueForRemoval(fixed, undefined, now))).toEqual([
      false,
      true,
    ]);
  });
});

describe('Activity', () => {
  function scene() {
    const clock = new VirtualClock('2026-01-01T00:00:00Z');
    const writes: [string, number][][] = [];
    const failures: unknown[] = [];
    const store = { isBroken: false, pending: undefined as Promise<void> | undefined };
    const activity = new Activity(
      clock,
      {
        async write(uses) {
          await store.pending;
          if (store.isBroken) throw new Error('write the uses: want a disk');
          writes.push([...uses].map(([uid, ms]) => [uid, ms - startMs]));
        },
      },
      (error) => failures.push(error),
    );
    const startMs = clock.wallTime().getTime();
    const last = (uid: string) => (activity.lastMs(uid) ?? Number.NaN) - startMs;
    return { clock, writes, failures, store, activity, last, startMs };
  }

  it('stores the first use before it is answered', async () => {
    const { activity, writes } = scene();
    await activity.used('a', 0);
    expect(writes).toEqual([[['a', 0]]]);
  });

  it('refuses the first use when it cannot be stored', async () => {
    const { activity, store, writes, clock } = scene();
    store.isBroken = true;
    await expect(activity.used('a', 0)).rejects.toThrow('want a disk');
    store.isBroken = false;
    await clock.advance(1000);
    expect(writes).toEqual([[['a', 0]]]);
  });

  it('shows a use at once and stores it within 40 seconds, all keys together', async () => {
    const { activity, writes, clock, last } = scene();
    await activity.used('a', 0);
    await activity.used('b', 0);
    await clock.advance(5000);
    await activity.used('a', 0);
    await activity.used('b', 0);
    await clock.advance(5000);
    await activity.used('a', 0);
    expect(last('a')).toBe(10_000);
    expect(writes).toHaveLength(2);
    await clock.advance(34_000);
    expect(writes).toHaveLength(2);
    await clock.advance(2000);
    expect(writes.slice(2)).toEqual([
      [
        ['a', 10_000],
        ['b', 5000],
      ],
    ]);
    await clock.advance(600_000);
    expect(writes).toHaveLength(3);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([
    [0, 40_000],
    [1_000_000, 40_000],
    [100, 10_000],
    [5, 1000],
  ])('stores a key with ttl %s within %s ms', async (ttl, windowMs) => {
    expect(flushWindowMs(ttl)).toBe(windowMs);
    const { activity, writes, clock } = scene();
    await activity.used('a', ttl);
    await clock.advance(10);
    await activity.used('a', ttl);
    await clock.advance(windowMs - 1);
    expect(writes).toHaveLength(1);
    await clock.advance(1001);
    expect(writes).toHaveLength(2);
  });

  it('tries again after a failure, and says so', async () => {
    const { activity, writes, clock, store, failures } = scene();
    await activity.used('a', 5);
    await clock.advance(10);
    await activity.used('a', 5);
    store.isBroken = true;
    await clock.advance(3000);
    expect([writes.length, failures.length > 0]).toEqual([1, true]);
    store.isBroken = false;
    await clock.advance(1000);
    expect(writes.slice(1)).toEqual([[['a', 10]]]);
  });

  it('keeps a use that happens while the one before is being stored', async () => {
    const { activity, writes, clock, store } = scene();
    await activity.used('a', 5);
    await clock.advance(10);
    await activity.used('a', 5);
    let open = () => {};
    store.pending = new Promise((resolve) => {
      open = resolve;
    });
    await clock.advance(2000);
    await activity.used('a', 5);
    open();
    await clock.advance(3000);
    expect(writes.map(([first]) => first?.[1])).toEqual([0, 10, 2010]);
  });

  it('never goes back when the clock is set back', async () => {
    const { activity, last, startMs } = scene();
    activity.load('a', startMs + 9000, false);
    await activity.used('a', 0);
    expect(last('a')).toBe(9000);
  });

  it('takes the newest use that any replica has seen, in whatever order it hears of them', async () => {
    const { activity, last, startMs } = scene();
    activity.heard('a', startMs + 9000);
    activity.heard('a', startMs + 4000);
    expect(last('a')).toBe(9000);
    activity.heard('a', startMs + 9500);
    expect(last('a')).toBe(9500);
  });

  it('grants the window that a crash may have lost, until the next use', async () => {
    const { activity, startMs, clock } = scene();
    activity.load('a', startMs, true);
    activity.load('b', startMs, false);
    expect((activity.forExpiryMs('a', 100) ?? 0) - startMs).toBe(10_000);
    expect((activity.forExpiryMs('b', 100) ?? 0) - startMs).toBe(0);
    expect((activity.lastMs('a') ?? 0) - startMs).toBe(0);
    await clock.advance(3000);
    await activity.used('a', 100);
    expect((activity.forExpiryMs('a', 100) ?? 0) - startMs).toBe(3000);
  });

  it('stores everything at a stop, and forgets a key that is gone', async () => {
    const { activity, writes, clock } = scene();
    await activity.used('a', 0);
    await activity.used('b', 0);
    await clock.advance(10);
    await activity.used('a', 0);
    await activity.used('b', 0);
    expect([activity.forget('b'), activity.forget('b')]).toEqual([true, false]);
    await activity.stop();
    expect(writes.slice(2)).toEqual([[['a', 10]]]);
    expect(clock.pendingTimers).toBe(0);
    expect(activity.lastMs('b')).toBeUndefined();
  });
});

describe('credentialOf()', () => {
  const record: KeyRecord = {
    name: 'k',
    uid: 'uid-k',
    id: 'i',
    secrets: [],
    subject: { kind: 'user', name: 'alice', uid: 'alice-1' },
    grantedGroups: [],
    madeBy: undefined,
    tokenGeneration: 1,
  };
  const object = (spec: object, annotations: Record<string, string> = {}) => ({
    metadata: { name: 'k', creationTimestamp: '2026-01-01T00:00:00Z', annotations },
    spec,
  });
  const world: KeyWorld = {
    directory: shop,
    key: () => undefined,
    lastActivityMs: () => undefined,
    subjectUid: () => 'alice-1',
    instanceUid: () => undefined,
  };
  const now = { nowMs: Date.parse('2026-01-01T00:00:01Z'), address: '10.1.2.3' };

  it('refuses a key whose name belongs to somebody else by now', () => {
    const facts = keyFacts(object({ user: 'alice' }), record);
    expect(credentialOf(facts, world, now).kind).toBe('credential');
    expect(credentialOf(facts, { ...world, subjectUid: () => 'alice-2' }, now)).toEqual({
      kind: 'dead',
      because: 'subject gone',
    });
    expect(credentialOf(facts, { ...world, subjectUid: () => undefined }, now).kind).toBe('dead');
  });

  it('refuses requests from other networks', () => {
    const of = (cidrs: string) => keyFacts(object({}, { 'hostward.dev/allowed-cidrs': cidrs }), record);
    const kind = (cidrs: string, address: string | undefined) =>
      credentialOf(of(cidrs), world, { ...now, address }).kind;
    expect(kind('10.0.0.0/8', '10.1.2.3')).toBe('credential');
    expect(kind('10.0.0.0/8', '::ffff:10.1.2.3')).toBe('credential');
    expect(kind('10.0.0.0/8, fd00::/8', 'fd00::1')).toBe('credential');
    expect(kind('10.0.0.0/8', '11.1.2.3')).toBe('dead');
    expect(kind('10.0.0.0/8', undefined)).toBe('dead');
    expect(kind('', '10.1.2.3')).toBe('dead');
    expect(kind('nonsense', '10.1.2.3')).toBe('dead');
  });

  it('takes a scope with null as none and one that is empty as one', () => {
    expect(keyFacts(object({ scope: null }), record).scoped).toBeUndefined();
    expect(keyFacts(object({ scope: {} }), record).scoped?.scope).toEqual({ entries: [] });
  });
});

describe('networks of a key', () => {
  it('are checked one by one', () => {
    expect(
      networkFaults('10.0.0.0/8, 10.0.0.1/8,::/0,x', 'p').map(({ message }) => message.split(':')[1]?.trim()),
    ).toEqual(['"10.0.0.1/8"', '"x"']);
    expect(networkFaults(Array(65).fill('10.0.0.0/8').join(','), 'p')).toHaveLength(1);
  });

  it.each([
    ['10.1.0.0/16', '10.0.0.0/8', true],
    ['10.0.0.0/8', '10.0.0.0/8', true],
    ['10.0.0.0/8', '10.1.0.0/16', false],
    ['10.1.0.0/16,fd00::/16', '10.0.0.0/8,fd00::/8', true],
    ['::/0', '0.0.0.0/0', false],
    [undefined, '10.0.0.0/8', false],
    ['10.0.0.0/8', undefined, true],
  ])('%s is narrower than %s: %s', (now, before, isIt) => {
    expect(isNarrower(now, before)).toBe(isIt);
  });

  it('hold no invalid address', () => {
    expect(sourceNetworks('0.0.0.0/0').includes('host')).toBe(false);
    for (const network of ['::/0', '::/1', '::/64', '::/80'])
      for (const address of ['127.0.0.1', '192.0.2.1', '::ffff:10.0.0.1'])
        expect(sourceNetworks(network).includes(address), `${network} ${address}`).toBe(false);
    expect(sourceNetworks('::/0').includes('2001:db8::1')).toBe(true);
    expect(sourceNetworks('::/0,10.0.0.0/8').includes('::ffff:10.0.0.1')).toBe(true);
  });
});
