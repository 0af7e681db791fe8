import { describe, expect, it } from 'vitest';
import { Ledger } from '../../../src/sync/world/ledger.ts';

const key = 'default/web';
const page = () => new Ledger().page<{ kind: string; reason?: string }>('Endpoints');

describe('LedgerPage', () => {
  it('says since when an outcome holds, however often a pass finds it again, and begins anew with another reason', () => {
    const ledger = page();
    for (const nowMs of [100, 200, 300]) ledger.set(key, { kind: 'refused', reason: 'NotOwned' }, nowMs);
    expect(ledger.entry(key)?.sinceMs).toBe(100);
    ledger.set(key, { kind: 'refused', reason: 'Forbidden' }, 400);
    expect(ledger.entry(key)?.sinceMs).toBe(400);
    ledger.set(key, { kind: 'inSync' }, 500);
    ledger.set(key, { kind: 'refused', reason: 'Forbidden' }, 600);
    expect(ledger.entry(key)?.sinceMs).toBe(600);
  });

  it('remembers nothing of an object that is gone', () => {
    const ledger = page();
    ledger.set(key, { kind: 'inSync' }, 100);
    ledger.setEqualHeads(key, '1 2 3');
    ledger.settle(key, '1');
    ledger.set(key, undefined, 200);
    ledger.forget(key);
    expect([ledger.equalHeads(key), ledger.settledAt(key), ledger.outcomeOf(key), ledger.inSync]).toEqual([
      ...[undefined, undefined, undefined, 0],
    ]);
  });

  it('counts each object once, under its outcome and under the reason', () => {
    const ledger = page();
    for (const name of ['a', 'b']) ledger.set(name, { kind: 'refused', reason: 'NotOwned' }, 1);
    ledger.set('b', { kind: 'refused', reason: 'Forbidden' }, 2);
    ledger.set('a', { kind: 'inSync' }, 3);
    expect(Object.fromEntries(ledger.counts())).toEqual({
      ...{ refused: 1, 'refused/NotOwned': 0, 'refused/Forbidden': 1 },
    });
  });

  it('tells the lag of the last thousand changes, in bounded memory', () => {
    const ledger = page();
    for (let nth = 0; nth < 5_000; nth++) ledger.noteLag(nth < 3_000 ? 900 : 5);
    expect(ledger.lags()).toEqual({ p50Ms: 5, p99Ms: 5, samples: 1_024 });
  });
});
