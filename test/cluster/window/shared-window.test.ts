// A window that several kinds share: each of them starts it and stops it.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '../../virtual-clock.ts';
import { ScriptedServer } from '../scripted-server.ts';
import { connectTo, openTestWindow, until } from '../subject.ts';

let server: ScriptedServer;

beforeEach(async () => {
  server = new ScriptedServer();
  await server.listen();
});
afterEach(() => server.close());

test('lists and watches once, however many start it together, and ends at once', async () => {
  const clock = new VirtualClock();
  const connection = connectTo(server.url, clock);
  const window = openTestWindow({ connection, clock });
  for (let kinds = 0; kinds < 3; kinds++) window.start();
  await window.whenSynced();
  await until(() => server.watches.size > 0, 'a watch');
  expect(server.seen.map(({ sort }) => sort)).toEqual(['list', 'watch']);
  // The virtual clock stands still, so a forgotten watch would keep this waiting for its silence.
  await Promise.all([window.stop(), window.stop(), window.stop()]);
  window.start();
  expect(window.state).toBe('stopped');
  await connection.close();
});
