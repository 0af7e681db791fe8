import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { silentLog } from '../../../src/log.ts';
import { plainDigest, readLine } from '../../../src/management/audit/chain/chain.ts';
import { ChainFile, type OpenChain } from '../../../src/management/audit/chain/chain-file.ts';
import { JournaledStore } from '../../../src/management/audit/journal/journaled-store.ts';
import { revokedBy } from '../../../src/management/audit/journal/revoked-by.ts';
import type { KeyRecord } from '../../../src/management/keys/secret/key-record.ts';
import type { StoreFault } from '../../../src/store/errors.ts';
import { MemoryStore } from '../../../src/store/memory-store.ts';
import { DistantStore } from '../../store/distant-store.ts';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const places = {
  keyPrefix: '/keys/',
  recordsPrefix: '/names/',
  recordOf: (object: object) => (object as { hidden?: { record: KeyRecord } }).hidden?.record,
};

function key(uid: string, spec: object = {}, record: object = {}, meta: object = {}): string {
  const whole = { uid, name: 'k', id: 'i', secrets: [], grantedGroups: [], tokenGeneration: 1, ...record };
  return JSON.stringify({ metadata: { name: 'k', uid, ...meta }, spec, hidden: { record: whole } });
}

/** Takes no line while it is full. */
class FakeDisk {
  isFull = false;

  readonly open: OpenChain = async (path) => {
    const file = await open(path, 'a+');
    const { appendFile } = file;
    const appendUnlessFull = (bytes: Buffer) =>
      this.isFull ? Promise.reject(new Error('ENOSPC')) : appendFile.call(file, bytes);
    return Object.assign(file, { appendFile: appendUnlessFull });
  };
}

async function start(options: { folder?: string; memory?: MemoryStore | DistantStore; open?: OpenChain } = {}) {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'hostward-journal-'));
  endings.push(() => rmSync(folder, { recursive: true, force: true }));
  const memory = options.memory ?? new MemoryStore({ clock: systemClock });
  if (options.memory === undefined) await memory.start();
  endings.push(() => memory.stop());
  const file = new ChainFile({
    folder,
    name: 'revocations',
    digest: plainDigest,
    ...(options.open && { open: options.open }),
  });
  await file.start();
  endings.push(() => file.stop());
  const clock = systemClock;
  const of = { store: memory, file, clock, log: silentLog };
  const store = new JournaledStore({ ...of, revokedBy: (event) => revokedBy(event, places) });
  await store.start();
  const stop = async () => {
    await store.stop();
    await file.stop();
  };
  endings.push(stop);
  const entries = () =>
    readFileSync(join(folder, 'revocations.log'), 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => readLine(line, plainDigest)?.entry as { revision: number; uid: string; change: { kind: string } });
  return { store, memory, folder, stop, entries, kinds: () => entries().map(({ change }) => change.kind) };
}

const put = (store: JournaledStore, value: string | undefined, expect?: number) =>
  store.write('/keys/k', { expect, value });

describe('a store with a journal', () => {
  it('says how far it got within a fraction of the history, so that a crash amid large writes hides no revocation', async () => {
    const memory = new MemoryStore({ clock: systemClock, history: { maxBytes: 16 * 1024 * 1024 } });
    await memory.start();
    const first = await start({ memory });
    for (let n = 0; n < 60; n++)
      await first.store.write('/other', { expect: undefined, value: 'x'.repeat(1024 * 1024) });
    expect(await memory.list('/', { atRevision: 20 })).toMatchObject({ kind: 'compacted' });
    // Without a stop, as after a crash.
    const { kinds } = await start({ memory, folder: first.folder });
    expect(kinds().filter((kind) => kind === 'begins')).toHaveLength(1);
    expect(kinds().filter((kind) => kind === 'covered').length).toBeGreaterThan(10);
  });

  it('has every revocation on the disk before it acknowledges the write, and nothing of what grants nothing away', async () => {
    const { store, entries, kinds } = await start();
    await put(store, key('a'), 0);
    await put(store, key('a', { displayName: 'x' }));
    expect(kinds()).toEqual(['begins', 'ceiling']);
    await put(store, key('a', { disabled: true }));
    expect(entries().at(-1)).toMatchObject({ uid: 'a', change: { kind: 'limits', limits: { disabled: true } } });
    await put(store, key('a', { disabled: true }, { secrets: [{ digest: 'new' }] }));
    expect(entries().at(-1)).toMatchObject({ change: { kind: 'secrets', secrets: [{ digest: 'new' }], id: 'i' } });
    await put(store, undefined);
    expect(entries().at(-1)).toMatchObject({ uid: 'a', change: { kind: 'deleted' } });
    await store.write('/names/user/alice', {
      expect: 0,
      value: JSON.stringify({ kind: 'user', name: 'alice', uid: 'u' }),
    });
    await put(store, key('b'), 0);
    await put(store, key('b', {}, {}, { deletionTimestamp: 'now' }));
    expect(entries().at(-1)).toMatchObject({ uid: 'b', change: { kind: 'deleted' } });
    expect(kinds()).toContain('name');
  });

  it('goes on after a crash with the changes that it had not written down', async () => {
    const one = await start();
    await put(one.store, key('a'), 0);
    await one.stop();
    // Written, and the process died before the journal heard of it.
    await one.memory.write('/keys/k', { expect: undefined, value: undefined });
    const two = await start(one);
    await put(two.store, key('b'), 0);
    await two.stop();
    expect(two.entries()).toContainEqual(expect.objectContaining({ uid: 'a', change: { kind: 'deleted' } }));
    expect(two.kinds().filter((kind) => kind === 'begins')).toHaveLength(1);
  });

  it('says that it begins again when the store has forgotten what it missed', async () => {
    const one = await start();
    await put(one.store, key('a'), 0);
    await one.stop();
    await one.memory.write('/keys/k', { expect: undefined, value: undefined });
    await one.memory.compact(2);
    const two = await start(one);
    expect(two.kinds().filter((kind) => kind === 'begins')).toHaveLength(2);
  });

  it('does not go on with a database that is older than itself', async () => {
    const one = await start();
    await put(one.store, key('a'), 0);
    await put(one.store, undefined);
    await one.stop();
    const older = new MemoryStore({ clock: systemClock });
    await older.start();
    await expect(start({ folder: one.folder, memory: older })).rejects.toThrow(
      /want the database at revision 2 or later, it is at 0: .* "hostward restore"/,
    );
  });

  it('refuses writes while the journal cannot be written, and takes them again afterwards', async () => {
    const disk = new FakeDisk();
    const { store, entries } = await start({ open: disk.open });
    await put(store, key('a'), 0);
    disk.isFull = true;
    await expect(put(store, key('a', { disabled: true }))).rejects.toMatchObject({ code: 'STORE_WRITE_FAILED' });
    await expect(store.write('/other', { expect: 0, value: 'x' })).rejects.toMatchObject({
      code: 'STORE_WRITE_FAILED',
    });
    disk.isFull = false;
    await expect
      .poll(
        () =>
          store.write('/other', { expect: 0, value: 'x' }).then(
            () => 'taken',
            () => 'refused',
          ),
        { timeout: 5000 },
      )
      .toBe('taken');
    // The refused change is in the store, so that the journal has it too.
    expect(entries().at(-1)).toMatchObject({ uid: 'a', change: { limits: { disabled: true } } });
  });

  it('goes on after a lost watch, also when the journal cannot be written at first', async () => {
    const disk = new FakeDisk();
    const memory = new DistantStore({ clock: systemClock });
    await memory.start();
    const { store, kinds } = await start({ open: disk.open, memory });
    await put(store, key('a'), 0);
    disk.isFull = true;
    await memory.miss('/keys/b', key('b'));
    const write = () =>
      store.write('/other', { expect: undefined, value: 'x' }).then(
        () => 'taken',
        (fault: StoreFault) => fault.code,
      );
    await expect.poll(write).toBe('STORE_WRITE_FAILED');
    disk.isFull = false;
    await expect.poll(write, { timeout: 5000 }).toBe('taken');
    expect(kinds().filter((kind) => kind === 'begins')).toHaveLength(2);
  });

  it('takes writes on after a record whose change nobody can judge', async () => {
    const { store } = await start();
    await store.write('/keys/forged', { expect: 0, value: '{"hidden":{"record":null}}' });
    expect((await store.write('/keys/forged', { expect: undefined, value: 'null' })).ok).toBe(true);
    expect((await store.write('/other', { expect: 0, value: 'x' })).ok).toBe(true);
  });

  it('announces revisions before they are used', async () => {
    const { store, entries } = await start();
    for (let count = 0; count < 60; count++)
      await Promise.all(
        Array.from({ length: 200 }, (_, n) => store.write(`/other/${count}/${n}`, { expect: 0, value: 'x' })),
      );
    const ceilings = entries().flatMap(({ change }) => (change as { ceiling?: number }).ceiling ?? []);
    expect(ceilings.length).toBeGreaterThan(1);
    expect(ceilings.at(-1)).toBeGreaterThan(await store.currentRevision());
  });
});
