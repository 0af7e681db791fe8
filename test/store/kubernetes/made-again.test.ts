// A name that was deleted and is taken again by a replica which has not heard of the deletion. To whoever did not follow the store
// meanwhile, the new record looks like a copy that somebody has put back by hand.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import type { HistoryLimits } from '../../../src/store/history-limits.ts';
import type { HostRecords } from '../../../src/store/kubernetes/records/host-records.ts';
import { nameOf, replicaData, replicaName } from '../../../src/store/kubernetes/records/record-format.ts';
import { mostTold } from '../../../src/store/kubernetes/trust/graves.ts';
import { Seals } from '../../../src/store/kubernetes/trust/seals.ts';
import type { StoreEvent } from '../../../src/store/store.ts';
import { type NumberedStore, newNamespace, recordsOn, sealKey } from '../../contract/store/on-host.ts';
import { openedOn } from '../../contract/store/opened-on-host.ts';
import { until } from '../../contract/store/store-stage.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { stoppable } from './stoppable.ts';

let host: Devcluster;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
});
afterAll(() => host.stop());

const { started, byHand } = openedOn(
  () => host,
  () => ({ hostClock: systemClock }),
);

const beat = (store: NumberedStore) => store.currentRevision({ fresh: true });
const valueIn = async (store: NumberedStore) => (await store.get('/key', { fresh: true })).record?.value;

/** Starts a replica that nobody answers. Its clock is virtual, so the test does not wait for the others as long as the replica does. */
async function startedUnheard(
  namespace: string,
  replica: string,
  hostClock = new VirtualClock(),
): Promise<NumberedStore> {
  const records = byHand(namespace);
  const last = async () => (await records.get(replicaName(replica)))?.version;
  const before = await last();
  let hasEnded = false;
  const starting = started(namespace, { replica, hostClock }).finally(() => {
    hasEnded = true;
  });
  await until(async () => hasEnded || (await last()) !== before);
  await until(async () => {
    await hostClock.advance(1_000);
    return hasEnded;
  });
  return starting;
}

/** What is made on the host is heard in its stream before whoever made it has an answer. */
function heldBack(records: HostRecords) {
  const create = records.create.bind(records);
  let going: PromiseWithResolvers<void> | undefined;
  records.create = async (...asked) => {
    const made = await create(...asked);
    await going?.promise;
    return made;
  };
  return {
    hold() {
      going = Promise.withResolvers();
    },
    goOn: () => going?.resolve(),
  };
}

/** `two` has begun to make the key, whose first life it has not heard of. `one` has, and says so on the host. */
async function madeAgain(history: Partial<HistoryLimits> = {}) {
  const namespace = await newNamespace(host);
  const records = byHand(namespace);
  const one = await started(namespace, { replica: 'one' });
  const stream = stoppable(recordsOn(host, namespace, 'two'));
  // It beats only when it is asked, so that its heartbeat of before does not tell what it believes.
  const [clock, answers] = [new VirtualClock(), heldBack(stream.host)];
  const two = await started(namespace, { replica: 'two', host: stream.host, hostClock: clock, history });
  await beat(one);
  stream.stop();
  const { revision } = await one.write('/key', { expect: 0, value: '"first"' });
  await one.write('/key', { expect: revision, value: undefined });
  await beat(one);
  const make = async (key = '/key') => {
    const making = two.write(key, { expect: 0, value: '"again"' });
    await until(async () => (await records.get(nameOf(key))) !== undefined);
    return { making };
  };
  return { namespace, records, one, two, stream, clock, answers, make };
}

/** A whole list takes the place of the change that makes the record. */
async function makeBeforeList(stream: ReturnType<typeof stoppable>, make: Made['make']): ReturnType<Made['make']> {
  await until(async () => stream.count >= 3);
  const before = stream.count;
  const made = await make();
  await until(async () => stream.count > before);
  stream.forgetNewest();
  return made;
}
type Made = Awaited<ReturnType<typeof madeAgain>>;

describe('a name that is taken again beside a deletion which its writer has not heard of', () => {
  it('is believed by a replica that starts, as soon as it hears the writer', async () => {
    const { namespace, records, one, two, stream, make } = await madeAgain();
    const { making } = await make();
    await one.stop();
    const before = await records.get(replicaName('one'));
    const starting = started(namespace, { replica: 'one' });
    // Its list has come, and it asks the others.
    await until(async () => (await records.get(replicaName('one')))?.version !== before?.version);
    stream.goOn();
    const [made, again] = await Promise.all([making, starting]);
    expect(made).toMatchObject({ ok: true });
    expect([await valueIn(again), await valueIn(two)]).toEqual(['"again"', '"again"']);
    expect([again.unusable.size, two.unusable.size]).toEqual([0, 0]);
    expect((await again.list('/key', {})).kind === 'page' && (await again.get('/key')).record?.revision).toBe(
      made.ok && made.revision,
    );
  });

  it('is waited for by a replica that starts, as long as a replica that lives may be silent', async () => {
    const { namespace, records, one, stream, make } = await madeAgain();
    const { making } = await make();
    await one.stop();
    const before = await records.get(replicaName('one'));
    const hostClock = new VirtualClock();
    const starting = started(namespace, { replica: 'one', hostClock });
    await until(async () => (await records.get(replicaName('one')))?.version !== before?.version);
    await hostClock.advance(4_000);
    stream.goOn();
    const [again] = await Promise.all([starting, making]);
    expect((await again.get('/key')).record?.value).toBe('"again"');
  });

  it('is believed by a replica that hears the writer only after it serves', async () => {
    const { namespace, one, two, stream, make } = await madeAgain();
    const { making } = await make();
    await one.stop();
    const again = await startedUnheard(namespace, 'one');
    expect((await again.get('/key')).record).toBeUndefined();
    const watch = await again.watch('/', await again.currentRevision());
    stream.goOn();
    await making;
    expect([await valueIn(again), await valueIn(two)]).toEqual(['"again"', '"again"']);
    expect(again.takenLate).toBe(1);
    // Nobody could tell the watch at which revision the record came.
    if ('kind' in watch) throw new Error('the present is forgotten');
    const heard: StoreEvent[] = [];
    for await (const batch of watch.events()) heard.push(...batch);
    expect(heard).toEqual([]);
  });

  it('is believed by a replica that has started between the deletion and the new record', async () => {
    const { namespace, one, two, stream, make } = await madeAgain();
    await one.stop();
    const three = await startedUnheard(namespace, 'three');
    const { making } = await make();
    await beat(three);
    expect(three.unusable.get(nameOf('/key'))).toMatch(/^it may be an older version/);
    stream.goOn();
    const [made, read] = await Promise.all([making, valueIn(three)]);
    expect([made, read, await valueIn(two)]).toMatchObject([{ ok: true }, '"again"', '"again"']);
  });

  it('is waited for by a list at the revision of the new record, and by reads', async () => {
    const { one, namespace, stream, make } = await madeAgain();
    await one.stop();
    const three = await startedUnheard(namespace, 'three');
    const { making } = await make();
    await beat(three);
    const answers = Promise.all([
      three.list('/', {}),
      three.read(['/key'], await three.currentRevision()),
      three.get('/key'),
    ]);
    stream.goOn();
    await making;
    const [list, read, got] = await answers;
    // The revision at which the read was asked is forgotten, as after every loss.
    expect([list, read.kind, got]).toMatchObject([
      { kind: 'page', records: [{ key: '/key', value: '"again"' }] },
      'compacted',
      { record: { value: '"again"' } },
    ]);
  });

  it('is not waited for by a list longer than a replica that lives may be silent', async () => {
    const { one, namespace, stream, make } = await madeAgain();
    await one.stop();
    const hostClock = new VirtualClock();
    const three = await startedUnheard(namespace, 'three', hostClock);
    const { making } = await make();
    await beat(three);
    const listing = three.list('/', {});
    await hostClock.advance(5_000);
    expect(await listing).toMatchObject({ kind: 'page', records: [] });
    expect(await three.list('/', {})).toMatchObject({ kind: 'page', records: [] });
    stream.goOn();
    await making;
  });

  it('is believed by a replica that could not judge it, once the writer has changed it', async () => {
    const { namespace, records, one, two, stream, make } = await madeAgain();
    await one.stop();
    const three = await startedUnheard(namespace, 'three');
    const { making } = await make();
    await beat(three);
    const word = await records.get(replicaName('three'));
    stream.goOn();
    await making;
    await two.write('/key', { expect: undefined, value: '"changed"' });
    expect(word?.data['guesses']).toMatch(new RegExp(`^${nameOf('/key')}@\\d+$`));
    expect(await valueIn(three)).toBe('"changed"');
  });

  it('is believed by its writer, also where a whole list comes before the change', async () => {
    const { two, one, stream, make } = await madeAgain();
    // Nobody else can say what to believe.
    await one.stop();
    const { making } = await makeBeforeList(stream, make);
    await expect(making).resolves.toMatchObject({ ok: true });
    await beat(two);
    expect(await valueIn(two)).toBe('"again"');
  });

  it('is shown by its writer, where that one could not judge it, at a revision at which nobody has missed it', async () => {
    const { two, one, stream, clock, answers, make } = await madeAgain();
    await one.stop();
    answers.hold();
    const { making } = await makeBeforeList(stream, make);
    await until(async () => two.unusable.has(nameOf('/key')));
    // As long as `one` could answer.
    await clock.advance(5_000);
    const missing = await two.list('/', {});
    answers.goOn();
    await making;
    const shown = await two.list('/', {});
    expect([missing, shown]).toMatchObject([{ records: [] }, { records: [{ value: '"again"' }] }]);
    // Whoever goes on from there must list again.
    const at = missing.kind === 'page' ? missing.revision : 0;
    expect(await two.watch('/', at)).toMatchObject({ kind: 'compacted' });
  });

  it('is believed by a replica that starts when its writer has ended', async () => {
    const { namespace, one, two, stream, make } = await madeAgain();
    const { making } = await make();
    stream.goOn();
    await making;
    for (const store of [one, two]) await store.stop();
    const three = await startedUnheard(namespace, 'three');
    expect(await valueIn(three)).toBe('"again"');
  });

  it.each([
    ['missed', {}],
    ['forgotten', { maxRevisions: 1 }],
  ])(
    'is believed by a replica that starts when its writer was killed, also where that one has %s the deletion',
    async (what, history) => {
      const { namespace, one, two, stream, make } = await madeAgain(history);
      await one.stop();
      const { making } = what === 'missed' ? await makeBeforeList(stream, make) : await make();
      if (what === 'forgotten') stream.goOn();
      await expect(making).resolves.toMatchObject({ ok: true });
      // It beats no more, as when it is killed.
      await two.stop();
      const three = await startedUnheard(namespace, 'three');
      expect([await valueIn(three), [...three.unusable]]).toEqual(['"again"', []]);
    },
  );

  it('is believed by a replica that starts when its writer was killed, also beside more deletions than a heartbeat tells', async () => {
    const { namespace, records, one, two, stream, make } = await madeAgain();
    await one.stop();
    // It has deleted others, and says so.
    const seals = new Seals([sealKey]);
    seals.useStore(one.sealedAs);
    const gone = Array.from({ length: mostTold }, (_, nth) => `${nth}@${nth}`);
    const name = replicaName('one');
    const says = { epoch: one.epoch, isSetBack: false, putBack: [], guesses: [], isNew: false, gone };
    for (let version = 0, nth = 0; nth <= mostTold; nth++) {
      const sight = { ...says, reached: version, since: version };
      const data = seals.applied(name, replicaData({ replica: 'one', beat: 1_000 + nth, about: '' }, sight));
      const said = await records.replace(name, data, undefined);
      version = said.kind === 'written' ? said.version : 0;
    }
    const { making } = await make('/new');
    stream.goOn();
    await expect(making).resolves.toMatchObject({ ok: true });
    await two.stop();
    const three = await startedUnheard(namespace, 'three');
    expect([(await three.get('/new')).record?.value, [...three.unusable]]).toEqual(['"again"', []]);
  });

  it('is not believed while nobody runs who has followed the store, whoever starts', async () => {
    const { namespace, records, one, two, stream } = await madeAgain();
    stream.goOn();
    await beat(two);
    const { revision } = await one.write('/key', { expect: 0, value: '"again"' });
    const copy = (await records.get(nameOf('/key')))?.data ?? {};
    await one.write('/key', { expect: revision, value: undefined });
    for (const store of [one, two]) {
      await beat(store);
      await store.stop();
    }
    const hostClock = new VirtualClock();
    const three = await started(namespace, { replica: 'three' });
    const four = await startedUnheard(namespace, 'four', hostClock);
    await records.create(nameOf('/key'), copy);
    for (let beats = 0; beats < 3; beats++) for (const store of [three, four]) await beat(store);
    // As long as somebody could answer.
    await hostClock.advance(5_000);
    const five = await startedUnheard(namespace, 'five');
    for (const store of [three, four, five]) {
      expect((await store.get('/key')).record).toBeUndefined();
      expect(store.unusable.get(nameOf('/key'))).toMatch(/older version/);
    }
  });
});
