// A thread of the playground that is ready and then turns for ever at the first question; at another it throws.
import { parentPort } from 'node:worker_threads';

parentPort?.on('message', ({ body }: { body: string }) => {
  if (body === 'throw') throw new Error('thrown');
  for (;;);
});
parentPort?.postMessage({ kind: 'ready' });
