import { afterEach, expect, it } from 'vitest';
import { StoreFault } from '../../../src/store/errors.ts';
import { DistantStore } from '../../store/distant-store.ts';
import { settle } from '../../virtual-clock.ts';
import { instance, pods } from '../proxy/behind-stage.ts';
import { type Behind, openBehind } from '../proxy/upstream.ts';
import { type Bench, keysPath, movedClock, openBench, until } from './bench.ts';

class Database extends DistantStore {
  trouble: string | undefined;

  async copyTo(): Promise<void> {}
}

const labelled = { body: { metadata: { labels: { a: 'b' } } }, type: 'application/merge-patch+json' };

let bench: Bench | Behind | undefined;
afterEach(() => bench?.stop());

/** A watch of keys and one of a cluster behind, which has told a first event. */
async function openWatches() {
  const clock = movedClock();
  const database = new Database({ clock });
  const behind = await openBehind({ database, clock });
  bench = behind;
  behind.answerWith((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"type":"ADDED","object":{"metadata":{"resourceVersion":"7"}}}\n');
  });
  const { ask, follow, keyFor } = behind.bench;
  const key = await keyFor('alice-key', { user: 'alice' });
  const { body } = await ask('GET', keysPath, { key });
  const keysFrom = `${keysPath}?watch=1&resourceVersion=${body['metadata']?.['resourceVersion']}`;
  const keys = await follow(keysFrom, key);
  const passed = await follow(`${instance}${pods}?watch=true`, key);
  await until(() => passed.events.length === 1, 'the event from behind');
  return { database, behind, key, keysFrom, keys, passed };
}

it('judges no key while it could not follow the keys for five seconds, says so, and goes on by itself', async () => {
  const clock = movedClock();
  const database = new Database({ clock });
  bench = await openBench({ database, clock });
  const { api, ask } = bench;
  const revoked = await bench.keyFor('revoked');
  const own = (key: string) => ask('GET', `${keysPath}/revoked`, { key });
  expect((await own(revoked)).code).toBe(200);
  const list = database.list.bind(database);
  database.list = () => Promise.reject(new StoreFault('STORE_WORKER_GONE', 'the disk is gone'));
  // Elsewhere the key is disabled, and this server misses it.
  const { record } = await database.get('/registry/ownedaccesskeys/revoked');
  const object = JSON.parse(record?.value ?? '') as { spec: object };
  await database.miss(
    '/registry/ownedaccesskeys/revoked',
    JSON.stringify({ ...object, spec: { ...object.spec, disabled: true } }),
  );
  await settle();
  expect(api.writeTrouble).toBeUndefined();
  clock.moveMonotonic(6_000);
  expect([(await own(revoked)).code, (await ask('GET', keysPath)).code]).toEqual([503, 503]);
  expect(api.writeTrouble).toMatch(/^the (names|keys|tokens|issued certificates) in the store have not been followed/);
  expect(api.status().troubles?.[0]).toBe(api.writeTrouble);
  database.list = list;
  await until(() => api.writeTrouble === undefined, 'the way back');
  expect([(await own(revoked)).code, (await ask('GET', keysPath)).code]).toEqual([401, 200]);
});

it('ends each watch without an ERROR event while the store is silent, and the same resourceVersion goes on', async () => {
  const { database, behind, key, keysFrom, keys, passed } = await openWatches();
  const { ask, follow } = behind.bench;
  database.trouble = 'the cluster of the records is silent';
  await Promise.all([keys.ended, passed.ended]);
  expect([keys.events, passed.events.map(({ type }) => type), passed.isWhole()]).toEqual([[], ['ADDED'], true]);
  expect((await ask('GET', keysFrom, { key })).code).toBe(503);
  database.trouble = undefined;
  const again = await follow(keysFrom, key);
  expect((await ask('PATCH', `${keysPath}/alice-key`, labelled)).code).toBe(200);
  await until(() => again.events.length > 0, 'an event after it');
  expect(again.events).toMatchObject([{ type: 'MODIFIED', object: { metadata: { name: 'alice-key' } } }]);
  again.stop();
});

it('ends them so too when it stops', async () => {
  const { behind, keys, passed } = await openWatches();
  await behind.bench.api.close();
  await Promise.all([keys.ended, passed.ended]);
  expect([keys.events, passed.events.map(({ type }) => type), passed.isWhole()]).toEqual([[], ['ADDED'], true]);
});
