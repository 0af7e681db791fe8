// A server whose kept connections still answer while no new one can be opened: its name is gone from the DNS, or it is out of file descriptors.
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Window } from '../../../src/cluster/window/window.ts';
import type { Connection } from '../../../src/cluster/wire/connection.ts';
import { openConnection } from '../../../src/cluster/wire/transport.ts';
import { silentLog } from '../../../src/log.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { ScriptedServer } from '../scripted-server.ts';
import { openTestWindow, passing, plainCredentials, type TestItem, until } from '../subject.ts';

let server: ScriptedServer;
let clock: VirtualClock;
let connection: Connection;
let windows: Window<TestItem>[];
let isRefusing: boolean;
let attempts: number;

beforeEach(async () => {
  server = new ScriptedServer();
  await server.listen();
  clock = new VirtualClock();
  isRefusing = false;
  attempts = 0;
  connection = openConnection({
    name: 'virtual',
    credentials: plainCredentials(server.url),
    clock,
    log: silentLog,
    connector: () => (_options, done) => {
      attempts++;
      if (isRefusing) process.nextTick(() => done(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), null));
      else {
        const socket = connect(server.port, '127.0.0.1');
        socket.once('connect', () => done(null, socket));
      }
    },
  });
  windows = [openTestWindow({ connection, clock }), openTestWindow({ connection, clock })];
  for (const window of windows) window.start();
  await Promise.all(windows.map((window) => window.whenSynced()));
  await until(() => server.watches.size === windows.length, 'the watches');
});

afterEach(async () => {
  for (const window of windows) await window.stop();
  await connection.close();
  await server.close();
});

test('windows that wake each other ask at most once a second, and are back when connections can be opened again', async () => {
  isRefusing = true;
  attempts = 0;
  server.endWatches('reset');
  await passing(clock, () => clock.now() >= 10_000 || attempts > 1_000);
  // One attempt a second of each window, and a second one each time, after the credentials were read again.
  expect(attempts).toBeLessThan(50);
  isRefusing = false;
  expect(await passing(clock, () => server.watches.size === windows.length)).toBeLessThanOrEqual(1_200);
});
