// What a replica said of its logs before a start stands in its record alone, and its first heartbeat writes over it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { HostSecrets } from '../../../../src/management/server/host/records/host-secrets.ts';
import { StoreFault, type StoreFaultCode } from '../../../../src/store/errors.ts';
import { isReplicaName } from '../../../../src/store/kubernetes/records/record-format.ts';
import { keysPath } from '../bench.ts';
import { TwoReplicas } from './two-replicas.ts';

const both = new TwoReplicas();
beforeAll(() => both.start(), 60_000);
afterAll(() => both.stop());

/** The next read of a replica's record fails so. */
function failOnce(code: StoreFaultCode): void {
  const { get } = HostSecrets.prototype;
  const spy = vi.spyOn(HostSecrets.prototype, 'get').mockImplementation(function (this: HostSecrets, name, options) {
    if (!isReplicaName(name)) return get.call(this, name, options);
    spy.mockRestore();
    return Promise.reject(new StoreFault(code, `Cannot read record "${name}": the host is busy`));
  });
}

it('is read before the start goes on, so that the lost end of a log is noticed', async () => {
  const a = await both.replica('a');
  await both.makeKey(a, 'last-line');
  expect((await both.client(a).request('DELETE', `${keysPath}/last-line`)).status).toBe(200);
  // A list waits for the own heartbeat.
  await both.client(a).request('GET', keysPath);
  await a.api.close();
  const path = join(a.dataDir, 'revocations.log');
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  writeFileSync(path, `${lines.slice(0, -2).join('\n')}\n`);

  failOnce('STORE_HOST_FAILED');
  await expect(both.make('a').open()).rejects.toThrow(/Cannot read record "hostward-replica-.*": the host is busy/);
  const again = await both.replica('a');
  expect(again.api.status().troubles?.join('\n')).toMatch(/the end of the journal of revocations was lost/);
  await again.api.close();
}, 60_000);

it('is nothing in a record that is damaged, which keeps no replica from its start', async () => {
  failOnce('STORE_RECORD_ASIDE');
  const a = await both.replica('a');
  expect(await both.use(a, 'root', both.admin)).toBe(200);
}, 60_000);
