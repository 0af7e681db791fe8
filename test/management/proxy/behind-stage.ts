// A server with a cluster behind it, which answers everything with an empty object unless a test says otherwise, and a key of alice.
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type Behind, openBehind } from './upstream.ts';

export const cluster = '/kubernetes/cluster/c1';
export const instance = '/kubernetes/project/shop/virtualcluster/v1';
export const pods = '/api/v1/namespaces/default/pods';

export let behind: Behind;
export let alice: string;

/** Call it at the top of a file of tests. */
export function setUp(): void {
  beforeAll(async () => {
    behind = await openBehind();
    alice = await behind.bench.keyFor('alice-key', { user: 'alice' });
  });
  afterAll(() => behind.stop());
  beforeEach(() => {
    behind.seen.length = 0;
    behind.answerWith((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{}');
    });
  });
}

export const ask = (method: string, path: string, how: object = {}) =>
  behind.bench.ask(method, path, { key: alice, ...how });
