// Replaces the database thread: stores nothing, fails for keys that contain "fail", and dies for keys that contain "die".
import { parentPort } from 'node:worker_threads';
import type { FromWorker, ToWorker } from '../../src/store/sqlite/sqlite-messages.ts';

const answer = (message: FromWorker) => parentPort?.postMessage(message);
answer({ kind: 'opened', compactedRevision: 0 });
answer({ kind: 'ready' });
parentPort?.on('message', (message: ToWorker) => {
  if (message.kind === 'close') {
    parentPort?.close();
    return;
  }
  if (message.kind === 'more') return;
  const keys = message.kind === 'commit' ? message.rows.map(([, key]) => key) : [];
  if (keys.some((key) => key.includes('die'))) throw new Error('out of memory');
  if (keys.some((key) => key.includes('fail'))) answer({ kind: 'failed', id: message.id, message: 'disk is full' });
  else answer({ kind: 'done', id: message.id });
});
