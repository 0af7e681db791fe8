// A host that stops answering in the middle of what it is asked, as a process does that stands still.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import type { HostSecrets } from '../../../src/management/server/host/records/host-secrets.ts';
import { type NumberedStore, newNamespace, recordsOn, storeOn } from '../../contract/store/on-host.ts';
import { VirtualClock } from '../../virtual-clock.ts';

let host: Devcluster;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
});
afterAll(() => host.stop());

const verbs = ['get', 'create', 'replace', 'remove', 'sideValues', 'writeSideValues'] as const;

/** Holds each question while it is frozen. */
function freezable(records: HostSecrets) {
  let thawed: PromiseWithResolvers<void> | undefined;
  const asked = records as unknown as Record<(typeof verbs)[number], (...given: unknown[]) => Promise<unknown>>;
  for (const verb of verbs) {
    const ask = asked[verb].bind(records);
    asked[verb] = async (...given) => {
      await thawed?.promise;
      return ask(...given);
    };
  }
  return {
    freeze() {
      thawed = Promise.withResolvers();
    },
    thaw() {
      thawed?.resolve();
      thawed = undefined;
    },
  };
}

let clock: VirtualClock;
let records: ReturnType<typeof freezable>;
let store: NumberedStore;
beforeEach(async () => {
  clock = new VirtualClock();
  const held = recordsOn(host, await newNamespace(host), 'one');
  records = freezable(held);
  store = storeOn(host, '', { host: held, hostClock: clock });
  await store.start();
  await store.write('/old', { expect: 0, value: '1' });
  await store.currentRevision({ fresh: true });
});
afterEach(async () => {
  records.thaw();
  await store.stop();
});

const reads = [
  ['a live read', () => store.get('/old', { fresh: true })],
  ['a live read on a miss', () => store.get('/absent', { fresh: true })],
  ['a list', () => store.currentRevision({ fresh: true })],
  ['the uses that other replicas saw', () => store.sideValues('/uses/')],
] as const;
const writes = [
  ['a create', () => store.write('/new', { expect: 0, value: '1' })],
  ['an update', () => store.write('/old', { expect: undefined, value: '2' })],
  ['a removal', () => store.write('/old', { expect: undefined, value: undefined })],
  ['the uses of a token', () => store.writeSideValues(new Map([['/uses/a', '1']]))],
] as const;

describe('what is under way when the host has been silent for five seconds', () => {
  it.each([
    ...reads.map(([what, ask]) => [what, 'STORE_HOST_AWAY', ask] as const),
    ...writes.map(([what, ask]) => [what, 'STORE_HOST_LAPSED', ask] as const),
  ])('%s ends with %s', async (_, code, ask) => {
    records.freeze();
    let ended: unknown;
    void ask().then(
      (answer) => {
        ended = answer;
      },
      (error: { code: string }) => {
        ended = error.code;
      },
    );
    await clock.advance(5_000);
    expect([ended, store.trouble]).toEqual([undefined, undefined]);
    await clock.advance(1);
    expect([ended, store.trouble]).toEqual([code, expect.stringContaining('out of reach')]);
  });
});

it.each([...reads, ...writes])('nothing is asked of a host that is silent: %s', async (_, ask) => {
  records.freeze();
  await clock.advance(5_001);
  await expect(ask()).rejects.toMatchObject({ code: 'STORE_HOST_AWAY' });
});

it('what was under way is done later all the same, and the store goes on', async () => {
  records.freeze();
  const made = store.write('/new', { expect: 0, value: '1' }).catch((error: { code: string }) => error.code);
  await clock.advance(5_001);
  expect(await made).toBe('STORE_HOST_LAPSED');
  records.thaw();
  for (let turn = 0; store.trouble !== undefined && turn < 100; turn++) await clock.advance(500);
  expect((await store.get('/new', { fresh: true })).record?.value).toBe('1');
  expect((await store.write('/later', { expect: 0, value: '1' })).ok).toBe(true);
});

it('says at its start what keeps the changes of the host away', async () => {
  const namespace = await newNamespace(host);
  const deaf = recordsOn(host, namespace, 'deaf');
  const follow = deaf.follow.bind(deaf);
  deaf.follow = (listener) =>
    follow({
      ...{ ...listener, changed: () => undefined, trouble: () => undefined },
      listed: (records, version) => {
        listener.listed(records, version);
        listener.trouble('it refuses the watch');
      },
    });
  const begun = storeOn(host, namespace, { host: deaf, hostClock: clock });
  let said = '';
  const starting = begun.start().catch((error: unknown) => {
    said = String(error);
  });
  for (let second = 0; said === '' && second < 60; second++) {
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await clock.advance(1_000);
  }
  await starting;
  await begun.stop();
  expect(said).toContain('Cannot confirm: the host has reported no change for 5 s: it refuses the watch');
});
