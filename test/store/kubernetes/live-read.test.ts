// What a replica says of a record that it reads from its host, while its stream of changes is behind.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { type NumberedStore, newNamespace, recordsOn, storeOn } from '../../contract/store/on-host.ts';
import { stoppable } from './stoppable.ts';

let host: Devcluster;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
});
afterAll(() => host.stop());

async function behindAnother(
  test: (stores: { one: NumberedStore; two: NumberedStore; stream: ReturnType<typeof stoppable> }) => Promise<void>,
) {
  const namespace = await newNamespace(host);
  const stream = stoppable(recordsOn(host, namespace, 'two'));
  const one = storeOn(host, namespace);
  const two = storeOn(host, namespace, { replica: 'two', host: stream.host });
  await one.start();
  await two.start();
  try {
    await test({ one, two, stream });
  } finally {
    stream.goOn();
    await one.stop();
    await two.stop();
  }
}

it('that is gone: it is absent at the revision beside it, from where a watch goes on', async () => {
  await behindAnother(async ({ one, two, stream }) => {
    const made = await one.write('/a', { expect: 0, value: '"made"' });
    await two.currentRevision({ fresh: true });
    stream.stop();
    const removed = await one.write('/a', { expect: made.revision, value: undefined });
    const asked = two.get('/a', { fresh: true });
    const written = two.write('/a', { expect: 0, value: '"again"' });
    await stream.answered();
    stream.goOn();
    const [{ record, revision }, again] = await Promise.all([asked, written]);
    expect([record, revision >= removed.revision]).toEqual([undefined, true]);
    expect(again).toMatchObject({ ok: true });
  });
});

it('that was changed again in the meantime: it is the record of that revision', async () => {
  await behindAnother(async ({ one, two, stream }) => {
    stream.stop();
    await one.write('/a', { expect: 0, value: '"first"' });
    const asked = two.get('/a', { fresh: true });
    await stream.answered();
    const last = await one.write('/a', { expect: undefined, value: '"last"' });
    stream.goOn();
    const { record, revision } = await asked;
    const page = await two.list('/a', { atRevision: revision });
    expect(page).toMatchObject({ kind: 'page', records: [record] });
    expect(revision < last.revision || record?.value === '"last"').toBe(true);
  });
});
