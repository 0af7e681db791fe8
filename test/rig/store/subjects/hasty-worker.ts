// The database thread of the planted early acknowledgement: says that a commit is on disk, and writes it a little later.
import { parentPort, Worker, workerData } from 'node:worker_threads';

const latenessMs = 5;
const real = new Worker(new URL('../../../../src/store/sqlite/sqlite-worker.ts', import.meta.url), { workerData });
const early = new Set<number>();
real.on('message', (message: { kind: string; id?: number }) => {
  if (message.id !== undefined && early.delete(message.id)) return;
  parentPort?.postMessage(message);
});
parentPort?.on('message', (message: { kind: string; id: number }) => {
  if (message.kind !== 'commit') {
    // Nothing overtakes a commit.
    setTimeout(() => real.postMessage(message), latenessMs);
    if (message.kind === 'close') parentPort?.close();
    return;
  }
  early.add(message.id);
  setTimeout(() => real.postMessage(message), latenessMs);
  parentPort?.postMessage({ kind: 'done', id: message.id });
});
