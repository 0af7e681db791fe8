// What replicas say of records that somebody edits by hand, and of a folder that knows nothing.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { silentLog } from '../../../../src/log.ts';
import { keyPrefix } from '../../../../src/management/keys/book/key-book.ts';
import { recover } from '../../../../src/management/server/moving/recover.ts';
import { nameOf } from '../../../../src/store/kubernetes/records/record-format.ts';
import { ApiClient } from '../../../contract/client.ts';
import { recordsOn } from '../../../contract/store/on-host.ts';
import { TwoReplicas } from './two-replicas.ts';

const both = new TwoReplicas();
beforeAll(() => both.start());
afterAll(() => both.stop());

const recordName = (key: string) => nameOf(keyPrefix + key);

it('an edited key is refused, lives again when it is mended before a replica, and is disabled and named by a recovery else (at length)', async () => {
  let a = await both.replica('a');
  both.copySecrets('a', 'b');
  const names = ['mended', 'edited', 'bare'] as const;
  const [mended, edited, bare] = (await Promise.all(names.map((name) => both.makeKey(a, name)))) as [
    string,
    string,
    string,
  ];
  const records = recordsOn(both.host, both.namespace);
  const dataOf = async (key: string) => (await records.get(recordName(key)))?.data ?? {};
  const good = { mended: await dataOf('mended'), edited: await dataOf('edited') };
  for (const name of ['mended', 'edited'] as const)
    await records.replace(recordName(name), { ...good[name], value: `${good[name]['value']} ` }, undefined);
  for (const [name, key] of [
    ['mended', mended],
    ['edited', edited],
  ] as const)
    await both.until(async () => (await both.use(a, name, key)) === 401, 'refused');
  await records.replace(recordName('mended'), good.mended, undefined);
  await both.until(async () => (await both.use(a, 'mended', mended)) === 200, 'good again');

  // The watch of the records shows a record without its label as deleted.
  const host = new ApiClient({ url: both.host.url, caPem: both.host.caPem, token: both.host.adminToken });
  const secret = `/api/v1/namespaces/${both.namespace}/secrets/${recordName('bare')}`;
  const headers = { 'content-type': 'application/merge-patch+json' };
  const body = { metadata: { labels: { 'hostward.dev/record': null } } };
  expect((await host.request('PATCH', secret, { headers, body })).status).toBe(200);
  await both.until(async () => (await both.use(a, 'bare', bare)) === 401, 'refused');
  await both.until(() => {
    both.clock.fire(60_000);
    return a.api.status().troubles?.some((trouble) => trouble.includes(recordName('bare'))) === true;
  }, 'named in status');
  await host.close();
  await a.api.close();

  // Alone, a folder that knows nothing starts no replica; beside one that knows, it does.
  let refused: unknown;
  void both
    .make('b')
    .open()
    .catch((error: unknown) => {
      refused = error;
    });
  await both.until(() => refused !== undefined, 'refused');
  expect(String(refused)).toContain('is empty and no other replica runs');
  a = await both.replica('a');
  const b = await both.replica('b');
  expect(await both.use(b, 'mended', mended)).toBe(200);
  await Promise.all([a.api.close(), b.api.close()]);

  await records.replace(recordName('edited'), good.edited, undefined);
  await records.stop();
  const [{ store, ...places }, limits] = [both.management('a'), { maxRecords: 10_000, maxBytes: 10_000_000 }];
  const server = { ...places, ingressListen: undefined, store: { ...store, ...limits } };
  const options = { server, trustsKeys: false, clock: both.clock, log: silentLog, environment: {} };
  expect(await both.alone(recover({ ...options, others: [b.dataDir] }))).toMatchObject({
    ...{ doubted: ['edited'], deleted: 0, disabled: 0, missing: [] },
    journals: [{ journal: { kind: 'whole' } }, { journal: { kind: 'whole' } }],
  });
  a = await both.replica('a');
  expect([await both.use(a, 'mended', mended), await both.use(a, 'edited', edited)]).toEqual([200, 401]);
}, 60_000);
