// The database thread, which dies before it writes a key that contains "die".
import { parentPort } from 'node:worker_threads';
import type { ToWorker } from '../../src/store/sqlite/sqlite-messages.ts';

// Added before the real listener, so that nothing is written.
parentPort?.addEventListener('message', (event) => {
  const message = event.data as ToWorker;
  if (message.kind !== 'commit' || !message.ask.writes.some(([key]) => key.includes('die'))) return;
  event.stopImmediatePropagation();
  throw new Error('out of memory');
});
await import('../../src/store/sqlite/sqlite-worker.ts');
