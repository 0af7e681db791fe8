// What a replica says of a record that it reads from its host, while its stream of changes is behind.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import type { HostListener, HostRecords } from '../../../src/store/kubernetes/host-records.ts';
import { type NumberedStore, newNamespace, recordsOn, storeOn } from '../../contract/store/on-host.ts';

let host: Devcluster;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
});
afterAll(() => host.stop());

/** Its stream stops on demand. */
function stoppable(records: HostRecords) {
  let answered: (() => void) | undefined;
  const get = records.get.bind(records);
  records.get = async (...asked) => {
    const found = await get(...asked);
    setImmediate(() => answered?.());
    return found;
  };
  let waiting: (() => void)[] | undefined;
  const pass = (call: () => void) => (waiting === undefined ? call() : void waiting.push(call));
  const behind = (listener: HostListener): HostListener => ({
    listed: (...list) => pass(() => listener.listed(...list)),
    changed: (change) => pass(() => listener.changed(change)),
    wentBack: (message) => pass(() => listener.wentBack(message)),
    trouble: (message) => pass(() => listener.trouble(message)),
  });
  const follow = records.follow.bind(records);
  records.follow = (listener) => follow(behind(listener));
  return {
    host: records,
    stop() {
      waiting = [];
    },
    /** A record that was asked for is here, and who asked has it. */
    answered: () =>
      new Promise<void>((resolve) => {
        answered = resolve;
      }),
    goOn() {
      const calls = waiting ?? [];
      waiting = undefined;
      for (const call of calls) call();
    },
  };
}

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
