// The number of keys of an owner is judged by what a replica knows, so two replicas may exceed it: by how much.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keysPath, people } from '../bench.ts';
import { type Replica, TwoReplicas } from './two-replicas.ts';

const perOwner = 6;
const both = new TwoReplicas();
let replicas: [Replica, Replica];
beforeAll(async () => {
  const keys = { ...people.keys, perOwner };
  await both.start();
  const a = await both.replica('a', { keys });
  both.copySecrets('a', 'b');
  replicas = [a, await both.replica('b', { keys })];
}, 30_000);
afterAll(() => both.stop());

const create = async (at: Replica, key: string, name: string) =>
  (await both.client(at, key).request('POST', keysPath, { body: { metadata: { name }, spec: {} } })).status;
/** Waits until the replica has heard what was written before. */
const list = (at: Replica, key: string) => both.client(at, key).request('GET', keysPath);

it('by nothing, while one key is made after the other', async () => {
  const bob = await both.makeKey(replicas[0], 'bob', { user: 'bob' });
  const statuses: number[] = [];
  for (let n = 0; n < perOwner + 1; n++) {
    const at = replicas[n % 2] as Replica;
    await list(at, bob);
    statuses.push(await create(at, bob, `bob-${n}`));
  }
  expect(statuses).toEqual([...Array(perOwner - 1).fill(201), 403, 403]);
});

it('by what is under way on the other one, and not again afterwards', async () => {
  const [a, b] = replicas;
  const alice = await both.makeKey(a, 'alice');
  await list(b, alice);
  const many = Array.from({ length: 2 * perOwner }, (_, n) => n);
  const asked = replicas.flatMap((at) => many.map((n) => create(at, alice, `alice-${at.name}-${n}`)));
  const statuses = await Promise.all(asked);
  expect(new Set(statuses)).toEqual(new Set([201, 403]));
  const made = 1 + statuses.filter((status) => status === 201).length;
  expect(made).toBeGreaterThanOrEqual(perOwner);
  // Each has a place for all keys but the first, and what the other one fills at this moment is all that it may not know.
  expect(made).toBeLessThanOrEqual(1 + 2 * (perOwner - 1));
  for (const at of replicas) expect(await create(at, alice, `alice-late-${at.name}`)).toBe(403);
});
