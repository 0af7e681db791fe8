// Shared by the tests of this room: a connection without credentials, and waits that move the virtual clock.
import type { Clock } from '../../src/clock.ts';
import type { Credentials } from '../../src/cluster/credentials/access.ts';
import { openWindow, type WindowOptions } from '../../src/cluster/window/open-window.ts';
import type { Item, Window } from '../../src/cluster/window/window.ts';
import type { Connection } from '../../src/cluster/wire/connection.ts';
import { endpointsResource } from '../../src/cluster/wire/scope.ts';
import { openConnection } from '../../src/cluster/wire/transport.ts';
import { silentLog } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics.ts';
import type { KubeObject } from '../../src/object/meta/object.ts';
import { settle, type VirtualClock } from '../virtual-clock.ts';

export interface TestItem extends Item {
  value: unknown;
}

export function projectTestItem(object: KubeObject): TestItem {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = object.metadata;
  return { namespace, name, uid, resourceVersion, value: object['value'] };
}

export function plainCredentials(server: string): Credentials {
  const tls = { ca: undefined, cert: undefined, key: undefined, servername: undefined, rejectUnauthorized: true };
  return {
    server,
    source: 'a test',
    namespace: undefined,
    proxy: undefined,
    read: async () => ({ server, proxy: undefined, headers: {}, tls, from: 'files' }),
  };
}

export function connectTo(server: string, clock: Clock): Connection {
  return openConnection({ name: 'virtual', credentials: plainCredentials(server), clock, log: silentLog });
}

/** A window on all Endpoints without randomness; a test can override every option. */
export function openTestWindow(
  options: Pick<WindowOptions<TestItem>, 'connection' | 'clock'> & Partial<WindowOptions<TestItem>>,
): Window<TestItem> {
  return openWindow({
    ref: endpointsResource,
    project: projectTestItem,
    random: () => 0.5,
    log: silentLog,
    metrics: createMetrics(),
    ...options,
  });
}

/** Waits for I/O while the virtual time stands still. */
export async function until(condition: () => boolean, what = 'the condition'): Promise<void> {
  const startMs = performance.now();
  while (!condition()) {
    if (performance.now() - startMs > 20_000) throw new Error(`waited 20 s for ${what}`);
    await settle(1);
  }
}

/** Waits for I/O and timers and moves the virtual time in small steps; returns the passed time. */
export async function passing(
  clock: VirtualClock,
  condition: () => boolean,
  options: { stepMs?: number; limitMs?: number; what?: string } = {},
): Promise<number> {
  const startMs = clock.now();
  const limitMs = options.limitMs ?? 600_000;
  while (!condition()) {
    if (clock.now() - startMs > limitMs)
      throw new Error(`waited ${limitMs} virtual ms for ${options.what ?? 'the condition'}`);
    await settle(12);
    if (!condition()) await clock.advance(options.stepMs ?? 20);
  }
  return clock.now() - startMs;
}
