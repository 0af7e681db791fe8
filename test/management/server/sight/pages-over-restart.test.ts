// A list that was read to its middle before a restart: what the rest of it is answered.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Body, keysPath, openBench } from '../bench.ts';
import { type Replica, TwoReplicas } from './two-replicas.ts';

const both = new TwoReplicas();
beforeAll(() => both.start());
afterAll(() => both.stop());

const names = (list: Body) =>
  (list['items'] as unknown as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
const tokenIn = ({ metadata }: Body) => String(metadata?.['continue']);

it('a server with a file goes on at the revision of the list', async () => {
  const bench = await openBench();
  try {
    for (const name of ['a', 'b', 'c']) await bench.keyFor(name);
    const first = (await bench.ask('GET', `${keysPath}?limit=2`)).body;
    await bench.keyFor('d');
    await bench.restart();
    const rest = await bench.ask('GET', `${keysPath}?continue=${tokenIn(first)}`);
    expect(rest.code).toBe(200);
    expect([...names(first), ...names(rest.body)]).toHaveLength(4);
    expect(names(rest.body)).not.toContain('d');
  } finally {
    await bench.stop();
  }
});

it('a replica that has begun anew answers 410, with a token that goes on at what is newest on every replica', async () => {
  const a = await both.replica('a');
  both.copySecrets('a', 'b');
  let b = await both.replica('b');
  const read = async (replica: Replica, query: string) => {
    const { status, json } = await both.client(replica).request('GET', `${keysPath}?${query}`);
    return { code: status, body: json as Body };
  };
  for (const name of ['k-1', 'k-2', 'k-3']) await both.makeKey(a, name);
  const { body: first } = await read(b, 'limit=2');
  await both.makeKey(a, 'k-4');
  await b.api.close();
  b = await both.replica('b');
  const token = tokenIn(first);
  const rest = ['k-3', 'root'];
  expect(names((await read(a, `continue=${token}`)).body)).toEqual(rest);
  const expired = await read(b, `limit=2&continue=${token}`);
  expect(expired.body).toMatchObject({ kind: 'Status', code: 410, reason: 'Expired' });
  for (const replica of [a, b])
    expect(names((await read(replica, `continue=${tokenIn(expired.body)}`)).body)).toEqual(['k-3', 'k-4', 'root']);
}, 30_000);
