import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import type { ApiRequest, Connection } from '../../../src/cluster/wire/connection.ts';
import { type Lease, openLease } from '../../../src/cluster/write/lease.ts';
import { silentLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';

/** A server with one Lease object. A test can delay requests, lose them, or lose their answers. */
class LeaseServer {
  lease: KubeObject | undefined;
  rv = 0;
  #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  connection(link: Link): Connection {
    return {
      name: 'host',
      server: 'lease server',
      request: (request) => this.#carry(request, link),
      stream: () => {
        throw new Error('a lease needs no stream');
      },
      subscribe: () => () => undefined,
      close: async () => undefined,
    };
  }

  async #carry(request: ApiRequest, link: Link): Promise<Answer> {
    const lost: Answer = { kind: 'failed', status: undefined, retryAfterMs: undefined, message: 'the link is down' };
    link.sent++;
    if (link.state === 'cut' || link.state === 'hangs') {
      if (link.state === 'hangs') await this.#wait(request.timeoutMs ?? 0, request.signal);
      return lost;
    }
    if (link.delayMs > 0) await this.#wait(link.delayMs, request.signal);
    if (link.state === 'late' && request.signal?.aborted) {
      this.#clock.after(link.delayMs, () => this.#serve(request));
      return lost;
    }
    const answer = this.#serve(request);
    return link.state === 'losesAnswers' ? lost : answer;
  }

  #wait(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(delayMs, resolve);
      signal?.addEventListener('abort', () => {
        timer.cancel();
        resolve();
      });
    });
  }

  #serve(request: ApiRequest): Answer {
    const body = request.body === undefined ? undefined : (JSON.parse(request.body) as KubeObject);
    if (request.method === 'POST' && body !== undefined) {
      if (this.lease !== undefined) return { kind: 'alreadyExists', message: 'it is there' };
      return this.#store(body);
    }
    if (this.lease === undefined) return { kind: 'notFound', message: 'no lease' };
    if (request.method === 'GET' || body === undefined) return { kind: 'ok', status: 200, object: this.lease };
    if (body.metadata.resourceVersion !== this.lease.metadata.resourceVersion)
      return { kind: 'conflict', message: 'somebody else was first' };
    const spec = { ...(this.lease['spec'] as object), ...(body['spec'] as object) };
    return this.#store({ ...this.lease, spec });
  }

  #store(object: KubeObject): Answer {
    const metadata = { ...object.metadata, resourceVersion: String(++this.rv) };
    this.lease = { ...object, metadata };
    return { kind: 'ok', status: 200, object: this.lease };
  }

  get holder(): unknown {
    return (this.lease?.['spec'] as { holderIdentity?: unknown } | undefined)?.holderIdentity;
  }
}

interface Link {
  /** `late`: the server carries out later what was given up. */
  state: 'up' | 'cut' | 'hangs' | 'losesAnswers' | 'late';
  delayMs: number;
  sent: number;
}

interface Replica {
  lease: Lease;
  link: Link;
  states: string[];
}

let clock: VirtualClock;
let server: LeaseServer;
let replicas: Replica[];

function replica(identity: string, { lookMs }: { lookMs?: number } = {}): Replica {
  const link: Link = { state: 'up', delayMs: 0, sent: 0 };
  const lease = openLease({
    connection: server.connection(link),
    namespace: 'vc-ns',
    name: 'hostward-vc',
    identity,
    clock,
    random: () => 0,
    log: silentLog,
    metrics: createMetrics(),
    ...(lookMs !== undefined && { lookMs }),
  });
  const states: string[] = [];
  lease.subscribe((state) => states.push(state.kind));
  const made = { lease, link, states };
  replicas.push(made);
  return made;
}

beforeEach(() => {
  clock = new VirtualClock();
  server = new LeaseServer(clock);
  replicas = [];
});

afterEach(async () => {
  for (const { lease, link } of replicas) {
    link.state = 'up';
    link.delayMs = 0;
    const stopped = lease.stop();
    await clock.advance(5_000);
    await stopped;
  }
  expect(clock.pendingTimers).toBe(0);
});

test('the first replica takes the lease at once, the second stands by and says who leads', async () => {
  const a = replica('a');
  const b = replica('b');
  a.lease.start();
  await settle();
  b.lease.start();
  await clock.advance(60_000);
  expect(a.lease.isHeld()).toBe(true);
  expect(b.lease.isHeld()).toBe(false);
  expect(b.lease.state).toEqual({ kind: 'standby', holder: 'a', trouble: undefined, isRenewed: true });
  expect(a.states).toEqual(['standby', 'leading']);
});

test('the object is what kubectl and client-go expect', async () => {
  const a = replica('a');
  a.lease.start();
  await clock.advance(2_000);
  expect(server.lease).toMatchObject({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'hostward-vc', namespace: 'vc-ns' },
    spec: {
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:02.000000Z',
      leaseTransitions: 0,
    },
  });
});

test('after a crash another replica takes over within the lease time and one look', async () => {
  const a = replica('a');
  const b = replica('b');
  a.lease.start();
  await settle();
  b.lease.start();
  await clock.advance(10_000);
  a.link.state = 'cut';
  const startMs = clock.now();
  while (!b.lease.isHeld()) await clock.advance(100);
  expect(clock.now() - startMs).toBeGreaterThan(12_000);
  expect(clock.now() - startMs).toBeLessThanOrEqual(16_500);
  expect(server.lease).toMatchObject({ spec: { leaseTransitions: 1 } });
});

test('a replica that is in no hurry looks as seldom as it was told, and takes over after a crash all the same', async () => {
  const a = replica('a');
  const b = replica('b', { lookMs: 5_000 });
  a.lease.start();
  await settle();
  b.lease.start();
  await clock.advance(60_000);
  expect(b.link.sent).toBeLessThanOrEqual(13);
  expect(b.lease.state).toEqual({ kind: 'standby', holder: 'a', trouble: undefined, isRenewed: true });
  a.link.state = 'cut';
  const startMs = clock.now();
  while (!b.lease.isHeld()) await clock.advance(100);
  expect(clock.now() - startMs).toBeGreaterThan(12_000);
  expect(clock.now() - startMs).toBeLessThanOrEqual(20_500);
});

test('after a graceful stop another replica takes over within about a second', async () => {
  const a = replica('a');
  const b = replica('b');
  a.lease.start();
  await settle();
  b.lease.start();
  await clock.advance(10_000);
  await a.lease.stop();
  expect(server.holder).toBe('');
  expect(a.lease.isHeld()).toBe(false);
  await clock.advance(1_300);
  expect(b.lease.isHeld()).toBe(true);
});

/** Leaves a lease that nobody holds. */
async function releaseOne(): Promise<void> {
  const { lease } = replica('b');
  lease.start();
  await clock.advance(1_000);
  await lease.stop();
}

test.each(['makes', 'takes'])(
  'a replica that %s the lease and stops before it hears of it gives it up',
  async (does) => {
    if (does === 'takes') await releaseOne();
    const a = replica('a');
    a.link.delayMs = 100;
    a.lease.start();
    // It has looked, and its claim is under way.
    await clock.advance(150);
    a.link.state = 'losesAnswers';
    await clock.advance(100);
    expect(server.holder).toBe('a');
    Object.assign(a.link, { state: 'up', delayMs: 0 });
    await a.lease.stop();
    expect(server.holder).toBe('');
  },
);

test.each(['makes', 'takes'])(
  'a replica that stops while it %s the lease waits for the answer and gives it up',
  async (does) => {
    if (does === 'takes') await releaseOne();
    const a = replica('a');
    Object.assign(a.link, { state: 'late', delayMs: 100 });
    a.lease.start();
    await clock.advance(150);
    expect(server.holder).toBe(does === 'takes' ? '' : undefined);
    const stopped = a.lease.stop();
    await clock.advance(1_000);
    await stopped;
    expect(server.holder).toBe('');
  },
);

test('a stop does not wait for long for a claim that is not answered', async () => {
  const a = replica('a');
  a.link.delayMs = 100;
  a.lease.start();
  await clock.advance(50);
  // What is under way arrives; the claim that follows does not.
  a.link.state = 'hangs';
  await clock.advance(100);
  let hasStopped = false;
  const stopped = a.lease.stop().then(() => {
    hasStopped = true;
  });
  await clock.advance(3_100);
  expect(hasStopped).toBe(true);
  await stopped;
});

describe('a holder loses the lease', () => {
  test('10 s after the last renewal was sent, not after its answer came', async () => {
    const a = replica('a');
    a.lease.start();
    await clock.advance(1_000);
    a.link.delayMs = 4_000;
    await clock.advance(5_000);
    a.link.state = 'cut';
    // Sent at 2 s, answered at 6 s.
    await clock.advance(5_999);
    expect(a.lease.isHeld()).toBe(true);
    await clock.advance(1);
    expect(a.lease.isHeld()).toBe(false);
    expect(a.lease.state.kind).toBe('standby');
  });

  test('while its renewal hangs, without waiting for the answer', async () => {
    const a = replica('a');
    a.lease.start();
    await clock.advance(1_000);
    a.link.state = 'hangs';
    await clock.advance(8_999);
    expect(a.lease.isHeld()).toBe(true);
    await clock.advance(1);
    expect(a.lease.isHeld()).toBe(false);
    expect(a.states).toEqual(['standby', 'leading', 'standby']);
  });

  test('at once when it reads another holder', async () => {
    const a = replica('a');
    a.lease.start();
    await clock.advance(1_000);
    server.rv++;
    server.lease = {
      ...(server.lease as KubeObject),
      metadata: { name: 'hostward-vc', namespace: 'vc-ns', resourceVersion: String(server.rv) },
      spec: { holderIdentity: 'thief', leaseDurationSeconds: 15 },
    };
    await clock.advance(1_000);
    expect(a.lease.isHeld()).toBe(false);
    expect(a.lease.state).toEqual({ kind: 'standby', holder: 'thief', trouble: undefined, isRenewed: true });
  });

  test('but not because one answer to a renewal was lost', async () => {
    const a = replica('a');
    a.lease.start();
    await clock.advance(1_000);
    a.link.state = 'losesAnswers';
    await clock.advance(2_000);
    a.link.state = 'up';
    await clock.advance(30_000);
    expect(a.states).toEqual(['standby', 'leading']);
  });
});

test('a standby takes a deleted lease only when the time of its holder has passed', async () => {
  const a = replica('a');
  const b = replica('b');
  a.lease.start();
  await settle();
  b.lease.start();
  await clock.advance(10_500);
  a.link.state = 'cut';
  server.lease = undefined;
  while (a.lease.isHeld()) {
    expect(b.lease.isHeld()).toBe(false);
    await clock.advance(100);
  }
  await clock.advance(16_000);
  expect(b.lease.isHeld()).toBe(true);
});

test('wall clocks play no part: an hour forward or back changes nothing', async () => {
  const a = replica('a');
  a.lease.start();
  await settle();
  const spec = server.lease?.['spec'] as Record<string, unknown>;
  const b = replica('b');
  b.lease.start();
  for (const renewTime of ['2026-01-01T01:00:00.000000Z', '2025-12-31T23:00:00.000000Z']) {
    spec['renewTime'] = renewTime;
    await clock.advance(20_000);
    expect([a.lease.isHeld(), b.lease.isHeld()]).toEqual([true, false]);
  }
});

test('a standby reports missing rights', async () => {
  const a = replica('a');
  a.link.state = 'cut';
  a.lease.start();
  await clock.advance(3_000);
  expect(a.lease.state).toMatchObject({ kind: 'standby', holder: undefined, trouble: 'the link is down' });
});

test('a leader that cannot renew any more stands behind nobody, and says since when', async () => {
  const a = replica('a');
  a.lease.start();
  await settle();
  expect(a.lease.state.kind).toBe('leading');
  a.link.state = 'cut';
  await clock.advance(11_000);
  const since = a.lease.state.kind === 'standby' ? a.lease.state.troubleSinceMs : undefined;
  expect(a.lease.state).toMatchObject({ kind: 'standby', holder: undefined, trouble: expect.any(String) });
  await clock.advance(20_000);
  expect(a.lease.state).toMatchObject({ holder: undefined, troubleSinceMs: since });
  a.link.state = 'up';
  await clock.advance(3_000);
  expect(a.lease.state.kind).toBe('leading');
});

const step = fc.oneof(
  fc.record({
    who: fc.integer({ min: 0, max: 2 }),
    link: fc.constantFrom<Link['state']>('up', 'up', 'cut', 'hangs', 'losesAnswers'),
  }),
  fc.record({ who: fc.integer({ min: 0, max: 2 }), delayMs: fc.constantFrom(0, 500, 3_000, 9_000) }),
  fc.record({ passMs: fc.integer({ min: 1, max: 12_000 }) }),
);

test('under random link faults two replicas never hold the lease at once, and one holds it when the links are quiet', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      clock = new VirtualClock();
      server = new LeaseServer(clock);
      replicas = [];
      for (const name of ['a', 'b', 'c']) replica(name).lease.start();
      const pass = async (ms: number): Promise<void> => {
        for (let passed = 0; passed < ms; passed += 250) {
          await clock.advance(Math.min(250, ms - passed));
          expect(replicas.filter(({ lease }) => lease.isHeld()).length).toBeLessThanOrEqual(1);
        }
      };
      for (const each of steps) {
        const link = 'who' in each ? (replicas[each.who] as Replica).link : undefined;
        if (link !== undefined && 'link' in each) link.state = each.link;
        else if (link !== undefined && 'delayMs' in each) link.delayMs = each.delayMs;
        else if ('passMs' in each) await pass(each.passMs);
      }
      for (const { link } of replicas) {
        link.state = 'up';
        link.delayMs = 0;
      }
      await pass(40_000);
      expect(replicas.filter(({ lease }) => lease.isHeld())).toHaveLength(1);
      for (const { lease } of replicas) await lease.stop();
      replicas = [];
    }),
    { numRuns: 15 },
  );
});

test('a holder counts as alive only once its lease was seen renewed: the lease of a killed process stays behind', async () => {
  const killed = replica('killed');
  killed.lease.start();
  await clock.advance(1_000);
  killed.link.state = 'cut';
  const a = replica('a');
  a.lease.start();
  await clock.advance(3_000);
  expect(a.lease.state).toEqual({ kind: 'standby', holder: 'killed', trouble: undefined });
  killed.link.state = 'up';
  await clock.advance(5_000);
  expect(a.lease.state).toEqual({ kind: 'standby', holder: 'killed', trouble: undefined, isRenewed: true });
});
