// A connection to a server that answers as the test says, with a clock of the test.
import { afterEach, beforeEach, expect } from 'vitest';
import type { Credentials } from '../../../../src/cluster/credentials/access.ts';
import type { Connection } from '../../../../src/cluster/wire/connection.ts';
import { openConnection } from '../../../../src/cluster/wire/transport.ts';
import { silentLog } from '../../../../src/log.ts';
import { VirtualClock } from '../../../virtual-clock.ts';
import { ScriptedServer } from '../../scripted-server.ts';

export let clock: VirtualClock;

export let server: ScriptedServer;

export const closers: (() => Promise<unknown> | unknown)[] = [];

export function connect(credentials: Credentials): Connection {
  const connection = openConnection({ name: 'host', credentials, clock, log: silentLog });
  closers.push(() => connection.close());
  return connection;
}

export const get = (connection: Connection, path = '/api/v1/namespaces/n/endpoints/a') =>
  connection.request({ method: 'GET', path });

/** Call it at the top of a file of tests. */
export function setUp(): void {
  beforeEach(async () => {
    clock = new VirtualClock();
    server = new ScriptedServer();
    await server.listen();
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
    await server.close();
    expect(clock.pendingTimers).toBe(0);
  });
}
