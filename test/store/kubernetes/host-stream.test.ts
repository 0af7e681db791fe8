// What the stream of a host does when it is asked for two things at once.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { newNamespace, recordsOn } from '../../contract/store/on-host.ts';

let host: Devcluster;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
});
afterAll(() => host.stop());

it('reads all records again that it was asked for, also when it is to be opened again before it has begun', async () => {
  const records = recordsOn(host, await newNamespace(host));
  let lists = 0;
  let resolve: () => void = () => undefined;
  const nextList = () =>
    new Promise<void>((settle) => {
      resolve = settle;
    });
  const first = nextList();
  records.follow({
    listed: () => {
      lists++;
      resolve();
    },
    changed: () => undefined,
    wentBack: () => undefined,
    trouble: () => undefined,
  });
  await first;
  const second = nextList();
  records.listAgain();
  records.followAgain();
  await second;
  expect(lists).toBe(2);
  await records.stop();
});
