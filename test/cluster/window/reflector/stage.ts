// A window on a server that answers as the test says, with a clock of the test.
import { afterEach, beforeEach, expect } from 'vitest';
import type { WindowOptions } from '../../../../src/cluster/window/open-window.ts';
import type { Window, WindowChange } from '../../../../src/cluster/window/window.ts';
import type { Connection } from '../../../../src/cluster/wire/connection.ts';
import { type Log, silentLog } from '../../../../src/log.ts';
import { createMetrics, type Metrics } from '../../../../src/metrics.ts';
import { VirtualClock } from '../../../virtual-clock.ts';
import { ScriptedServer } from '../../scripted-server.ts';
import { connectTo, openTestWindow, passing, type TestItem, until } from '../../subject.ts';

export let server: ScriptedServer;

export let clock: VirtualClock;

export let connection: Connection;

export let window: Window<TestItem>;

export let metrics: Metrics;

export let changes: WindowChange[];

export let warnings: string[];

/** The fields of every error in the log. */
export let defects: Record<string, unknown>[];

export let lists: { isFirst: boolean; count: number; removed: readonly string[] }[];

export const value = (key: string) => window.get(key)?.value;

export const watching = () => until(() => server.watches.size === 1 && window.state === 'watching', 'a watch');

export async function synced(): Promise<void> {
  window.start();
  await window.whenSynced();
  await watching();
  changes.length = 0;
}

/** Proves that the window works: it shows a new change, and made only the expected number of lists. */
export async function expectAlive(expectedLists: number): Promise<void> {
  server.put('a', { value: 'alive' });
  await passing(clock, () => value('default/a') === 'alive', { what: 'the update after the fault' });
  expect(server.count('list')).toBe(expectedLists);
}

/** Replaces the window that `setUp` has opened, which must be stopped. */
export function open(options: Partial<WindowOptions<TestItem>> = {}): void {
  const warn = (fields: { trouble?: string }) => void warnings.push(fields.trouble ?? '');
  const error = (fields: Record<string, unknown>) => void defects.push(fields);
  const log = { ...silentLog, warn, error, child: () => log } as unknown as Log;
  window = openTestWindow({ connection, clock, metrics, log, ...options });
  window.subscribe({ changed: (change) => changes.push(change), listed: (list) => lists.push(list) });
}

/** Call it at the top of a file of tests. `names`: the objects that the server has. */
export function setUp(options: Partial<WindowOptions<TestItem>> = {}, names: readonly string[] = ['a', 'b']): void {
  beforeEach(async () => {
    server = new ScriptedServer();
    await server.listen();
    clock = new VirtualClock();
    metrics = createMetrics();
    connection = connectTo(server.url, clock);
    changes = [];
    lists = [];
    warnings = [];
    defects = [];
    open(options);
    for (const name of names) server.put(name, { value: 1 });
  });
  afterEach(async () => {
    await window.stop();
    await connection.close();
    await server.close();
    expect(clock.pendingTimers).toBe(0);
  });
}
