import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import { Outages } from '../../../src/daemon/clusters/outages.ts';
import { WriteOutage } from '../../../src/daemon/clusters/write-outage.ts';
import { silentLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const write = { verb: 'create', resource: 'endpoints', path: '/api/v1/namespaces/h/endpoints' } as const;
const nothing = { over: () => undefined, tryOne: () => undefined };
const good: Answer = { kind: 'ok', status: 200, object: { metadata: {} } } as Answer;
const failed: Answer = { kind: 'failed', message: 'no answer in time' } as Answer;

describe('WriteOutage', () => {
  it('begins when the first write was sent that failed, not when the wait for its answer ended', async () => {
    const clock = new VirtualClock();
    const outage = new WriteOutage(clock);
    const startMs = clock.now();
    await clock.advance(10_000);
    outage.note(failed, write, 10_000);
    expect(outage.current?.sinceMs).toBe(startMs);
    await clock.advance(10_000);
    outage.note(failed, write, 10_000);
    expect(outage.current?.sinceMs).toBe(startMs);
  });

  it('begins after the last write that the server accepted', async () => {
    const clock = new VirtualClock();
    const outage = new WriteOutage(clock);
    await clock.advance(9_000);
    outage.note(good, write, 5);
    const goodMs = clock.now();
    await clock.advance(1_000);
    outage.note(failed, write, 10_000);
    expect(outage.current?.sinceMs).toBe(goodMs);
    outage.note(good, write, 5);
    expect(outage.current).toBeUndefined();
  });
});

describe('a write that is refused', () => {
  const unanswered: Answer = { kind: 'failed', status: undefined, retryAfterMs: undefined, message: 'no connection' };
  const failing: Answer = { ...unanswered, status: 500, message: 'the webhook of the tenant failed' };
  const expired: Answer = { kind: 'unauthorized', message: 'the token has expired' } as Answer;
  const forbidden: Answer = { kind: 'forbidden', message: 'no verb', namespaceTerminating: false };
  it.each([
    ['virtual', unanswered, true],
    ['virtual', expired, true],
    ['virtual', failing, false],
    ['virtual', forbidden, false],
    ['host', unanswered, true],
    ['host', expired, true],
    ['host', failing, true],
    ['host', forbidden, true],
  ] as const)('on the %s side with %j is an outage: %s', (side, answer, isOutage) => {
    const options = { clock: new VirtualClock(), log: silentLog, metrics: createMetrics() };
    const { writes } = new Outages(options, { windows: () => [], isInDoubt: () => false, ...nothing });
    writes[side].note(answer, write, 5);
    expect(writes[side].current !== undefined).toBe(isOutage);
  });
});
