import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/clock.ts';
import { silentLog } from '../../../../src/log.ts';
import { databasePath } from '../../../../src/management/keys/folder/data-folder.ts';
import { ManagementApi } from '../../../../src/management/server/server.ts';
import { WriteCheck, writeAttempt } from '../../../../src/management/server/write-check.ts';
import { createMetrics } from '../../../../src/metrics.ts';
import { StoreFault } from '../../../../src/store/errors.ts';
import { SqliteStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { VirtualClock } from '../../../virtual-clock.ts';
import { keysPath, movedClock, people, until } from '../bench.ts';
import { bench, folder, setUp } from './stage.ts';

setUp();

describe('the folder', () => {
  it('belongs to its owner and to one process alone', async () => {
    const one = await bench();
    expect(statSync(one.folder).mode & 0o777).toBe(0o700);
    for (const file of ['keys.db', 'secrets.json', 'ca.key', 'audit.log'])
      expect([file, statSync(join(one.folder, file)).mode & 0o077]).toEqual([file, 0]);
    const server = {
      listen: '127.0.0.1:0',
      baseURL: 'https://localhost',
      dataDir: one.folder,
      ingressListen: undefined,
    };
    const second = new ManagementApi({
      settings: people,
      server,
      clock: systemClock,
      log: silentLog,
      version: '1.0.0',
      // Does not wait, as a server does, for another one that is about to end.
      database: new SqliteStore({ clock: systemClock, path: databasePath(one.folder), lockTimeoutMs: 0 }),
    });
    await expect(second.open()).rejects.toThrow(/process/);
  });

  it('without the secrets of its keys it is not opened: new ones would kill every key', async () => {
    const one = await bench();
    rmSync(join(one.folder, 'secrets.json'));
    await expect(one.restart()).rejects.toThrow(/wanted the secrets of the keys in the database/);
  });
});

describe('a disk that takes no writes', () => {
  const noRoom = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });

  it('ends readiness but not life, says why and how to mend it, and comes back by itself', async () => {
    const [clock, metrics] = [movedClock(), createMetrics()];
    let attempt: () => Promise<void> = () => Promise.resolve();
    const { ask, api } = await bench({ clock, metrics, writeAttempt: () => attempt() });
    const look = async (wanted: number) => {
      clock.fire(5_000);
      await until(async () => (await ask('GET', '/readyz/management')).code === wanted, `${wanted}`);
      return ask('GET', '/readyz/management');
    };
    expect(api.writeTrouble).toBeUndefined();
    attempt = () => Promise.reject(noRoom);
    expect((await look(500)).text).toContain('reads go on: dataDir: no space is left on its disk; free some');
    for (const path of ['/readyz', '/kubernetes/management/readyz'])
      expect((await ask('GET', path)).text, path).toContain('no space is left');
    for (const path of ['/livez', '/healthz', '/kubernetes/management/livez', keysPath])
      expect(await ask('GET', path), path).toMatchObject({ code: 200 });
    expect(await metrics.metrics()).toContain('hostward_management_writable 0');
    attempt = () => Promise.resolve();
    await look(200);
    expect(await metrics.metrics()).toContain('hostward_management_writable 1');
    let release = () => {};
    attempt = () => new Promise((resolve) => (release = resolve));
    clock.fire(5_000);
    expect((await look(500)).text).toContain('a write to it has not ended for seconds');
    release();
    attempt = () => Promise.resolve();
    await look(200);
  });

  it('is not what a host has that fails once: it is asked again a second later, and named then', async () => {
    const clock = new VirtualClock();
    const fault = new StoreFault(
      'STORE_HOST_FAILED',
      'Cannot write record "hostward-uses-a-1": too old resource version',
    );
    let faults = 1;
    const attempt = () => (faults-- > 0 ? Promise.reject(fault) : Promise.resolve());
    const writes = new WriteCheck({ clock, log: silentLog, metrics: undefined, attempt });
    writes.start();
    await clock.advance(999);
    expect([writes.trouble, faults]).toEqual([undefined, 0]);
    await clock.advance(1);
    expect([writes.trouble, faults]).toEqual([undefined, -1]);
    faults = 2;
    await clock.advance(5_000);
    expect([writes.trouble, faults]).toEqual([undefined, 1]);
    await clock.advance(1_000);
    expect(writes.trouble).toBe(
      'changes are refused, reads go on: the cluster of the store has not taken a write; the log says why',
    );
    await clock.advance(5_000);
    expect(writes.trouble).toBeUndefined();
    await writes.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it.each(['STORE_HOST_AWAY', 'STORE_HOST_LAPSED'] as const)(
    'is not what a store says of itself while its host is silent: %s',
    async (code) => {
      const clock = new VirtualClock();
      let isSilent = true;
      const attempt = () => (isSilent ? Promise.reject(new StoreFault(code, 'silent')) : Promise.resolve());
      const writes = new WriteCheck({ clock, log: silentLog, metrics: undefined, attempt });
      writes.start();
      for (let look = 0; look < 3; look++) {
        await clock.advance(5_000);
        expect(writes.trouble).toBeUndefined();
      }
      isSilent = false;
      await writes.stop();
    },
  );

  it.each([
    [true, 'the cluster of the store has not taken a write; the log says why'],
    [false, 'dataDir: a write to it has not ended for seconds; look at its disk'],
  ])(
    'a write that does not end is the fault of the place that it is for: in a cluster %j',
    async (isInCluster, why) => {
      const clock = new VirtualClock();
      let ends = () => {};
      const attempt = (folderIsWritten: () => void) => {
        folderIsWritten();
        return new Promise<void>((resolve) => {
          ends = resolve;
        });
      };
      const writes = new WriteCheck({ clock, log: silentLog, metrics: undefined, attempt, isInCluster });
      writes.start();
      await clock.advance(5_000);
      expect(writes.trouble).toBe(`changes are refused, reads go on: ${why}`);
      ends();
      await writes.stop();
    },
  );

  it('is found by a write into the folder, of which nothing stays', async () => {
    const made = folder();
    const written: unknown[] = [];
    const store = {
      writeSideValues: async (changes: ReadonlyMap<string, string | undefined>) => void written.push(changes),
    };
    await writeAttempt(made, store)(() => undefined);
    expect([readdirSync(made), written.length]).toEqual([[], 1]);
    await expect(writeAttempt(join(made, 'gone'), store)(() => undefined)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
