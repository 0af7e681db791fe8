// A page of a list that goes on at a replica which has not heard of the list's revision yet, because its stream of changes is behind.
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Kind } from '../../../src/apiserver/kinds/kind.ts';
import { encodeContinue } from '../../../src/apiserver/verbs/continue-token.ts';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { newNamespace, recordsOn, storeOn } from '../../contract/store/on-host.ts';
import { stoppable } from '../../store/kubernetes/stoppable.ts';
import { gadgetKind, gadgets, openGadgets, specOf } from '../shop/gadgets.ts';
import type { Shop } from '../shop/widgets.ts';

const indexed: Kind = { ...gadgetKind, indexes: { 'spec.owner': (object) => [String(specOf(object)['owner'])] } };

let host: Devcluster;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
});
afterAll(() => host.stop());

let one: Shop;
let two: Shop;
let compact: () => Promise<void>;
/** The second replica hears of what the first one wrote only when it asks the host how far the host is. */
beforeEach(async () => {
  const namespace = await newNamespace(host);
  const stream = stoppable(recordsOn(host, namespace, 'two'));
  const first = storeOn(host, namespace);
  const second = storeOn(host, namespace, { replica: 'two', host: stream.host });
  for (const store of [first, second]) await store.start();
  one = await openGadgets({ store: first }, indexed);
  two = await openGadgets({ store: second }, indexed);
  await one.call('POST', gadgets, gadget('a'));
  // Builds the index.
  await two.call('GET', `${gadgets}?fieldSelector=spec.owner%3Dann`);
  stream.stop();
  const asksMemory = second.currentRevision.bind(second);
  second.currentRevision = (options) => {
    const revision = asksMemory(options);
    if (options?.fresh === true) stream.goOn();
    return revision;
  };
  for (const name of ['b', 'c']) await one.call('POST', gadgets, gadget(name));
  compact = async () => second.compact(await second.currentRevision({ fresh: true }));
  onTestFinished(async () => {
    stream.goOn();
    for (const end of [one, two, first, second]) await end.stop();
  });
});

const gadget = (name: string) => ({ metadata: { name }, spec: { owner: 'ann' } });
const namesIn = (json: Record<string, unknown>) =>
  (json['items'] as { metadata: { name: string } }[] | undefined)?.map(({ metadata }) => metadata.name);
const tokenIn = (json: Record<string, unknown>) => (json['metadata'] as { continue: string }).continue;

const lists = [
  { list: 'all', query: 'limit=1' },
  { list: 'those of an owner, by the index', query: 'limit=1&fieldSelector=spec.owner%3Dann' },
  { list: 'those of a label', query: 'limit=1&labelSelector=!absent' },
];

it.each(lists)('waits for the revision of its token: a list of $list', async ({ query }) => {
  const { json } = await one.call('GET', `${gadgets}?${query}`);
  expect(namesIn(json)).toEqual(['a']);
  const next = await two.call('GET', `${gadgets}?${query}&continue=${tokenIn(json)}`);
  expect([next.status, namesIn(next.json)]).toEqual([200, ['b']]);
  const last = await one.call('GET', `${gadgets}?${query}&continue=${tokenIn(next.json)}`);
  expect([last.status, namesIn(last.json)]).toEqual([200, ['c']]);
});

it.each(lists)('waits for what is newest when its token has no revision: a list of $list', async ({ query }) => {
  const token = encodeContinue({ revision: -1, after: 'a' });
  const next = await two.call('GET', `${gadgets}?${query}&continue=${token}`);
  expect([next.status, namesIn(next.json)]).toEqual([200, ['b']]);
});

it('waits when what it shows is deleted', async () => {
  const { json } = await one.call('GET', `${gadgets}?limit=1`);
  const deleted = await two.call('DELETE', `${gadgets}?limit=5&continue=${tokenIn(json)}`);
  expect([deleted.status, namesIn(deleted.json)]).toEqual([200, ['b', 'c']]);
});

it('is refused when no replica has reached the revision of its token', async () => {
  const token = encodeContinue({ revision: 1e12, after: 'a' });
  const refused = await two.call('GET', `${gadgets}?limit=1&continue=${token}`);
  expect(refused.json).toMatchObject({ kind: 'Status', code: 504, reason: 'Timeout' });
});

it.each(lists)('goes on with the token of a 410 when the revision is forgotten: a list of $list', async ({ query }) => {
  const { json } = await one.call('GET', `${gadgets}?${query}`);
  await one.call('POST', gadgets, gadget('d'));
  await compact();
  const refused = await two.call('GET', `${gadgets}?${query}&continue=${tokenIn(json)}`);
  expect(refused.json).toMatchObject({ kind: 'Status', code: 410, reason: 'Expired' });
  const next = await two.call('GET', `${gadgets}?${query.replace('1', '5')}&continue=${tokenIn(refused.json)}`);
  expect([next.status, namesIn(next.json)]).toEqual([200, ['b', 'c', 'd']]);
});
