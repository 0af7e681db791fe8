import { afterEach, expect, it } from 'vitest';
import { StoreFault } from '../../../src/store/errors.ts';
import { DistantStore } from '../../store/distant-store.ts';
import { settle } from '../../virtual-clock.ts';
import { type Bench, keysPath, movedClock, openBench, until } from './bench.ts';

class Database extends DistantStore {
  async copyTo(): Promise<void> {}
}

let bench: Bench | undefined;
afterEach(() => bench?.stop());

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
