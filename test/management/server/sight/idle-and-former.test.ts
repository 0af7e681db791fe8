// What a replica alone cannot know of a key: that it was used elsewhere; and what it can: that it was revoked.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keysPath } from '../bench.ts';
import { type Replica, TwoReplicas } from './two-replicas.ts';

const both = new TwoReplicas();
let a: Replica;
let b: Replica;
beforeAll(async () => {
  await both.start();
  a = await both.replica('a');
  both.copySecrets('a', 'b');
  b = await both.replica('b');
}, 30_000);
afterAll(() => both.stop());

const ttl = 600;
const wordsOf = async (at: Replica, key: string) => {
  const { status, json } = await both.client(at, key).request('GET', keysPath);
  return [status, (json as { message?: string }).message];
};

it('a key that looks idle on one replica is asked for on the other before it is refused', async () => {
  const used = await both.makeKey(a, 'used', { user: 'alice', ttl, ttlAfterLastActivity: true });
  const left = await both.makeKey(a, 'left', { user: 'alice', ttl, ttlAfterLastActivity: true });
  for (const key of [used, left]) expect((await wordsOf(a, key))[0]).toBe(200);
  both.clock.moveSeconds(ttl - 100);
  expect((await wordsOf(b, used))[0]).toBe(200);
  both.clock.moveSeconds(200);
  expect(await wordsOf(a, left)).toEqual([401, 'the access key has expired']);
  expect((await wordsOf(a, used))[0]).toBe(200);
});

it('a key that was revoked is refused however often it is used, and never with 503', async () => {
  const gone = await both.makeKey(a, 'gone');
  const rotated = await both.makeKey(a, 'rotated');
  const client = both.client(a);
  expect((await client.request('DELETE', `${keysPath}/gone`)).status).toBe(200);
  const rotation = await client.request('POST', `${keysPath}/rotated/rotate`, { body: { spec: {} } });
  expect(rotation.status).toBe(201);
  const codes: unknown[] = [];
  for (let n = 0; n < 60; n++) codes.push((await wordsOf(n < 30 ? a : b, n % 2 === 0 ? gone : rotated))[0]);
  // Beyond so many failures of one source a server is asked to wait, whatever its store is.
  expect(new Set(codes)).toEqual(new Set([401, 429]));
  expect(codes.slice(0, 20)).toEqual(Array(20).fill(401));
  const fresh = (rotation.json as { status: { key: string } }).status.key;
  for (const at of [a, b]) expect((await wordsOf(at, fresh))[0]).toBe(200);
});
