// Loaded into a daemon that a bench has started with an IPC channel: says on demand what the process has cost so far and what it holds after
// a full garbage collection. The daemon itself knows nothing of it. It ends with the bench, also when the bench is killed.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

process.on('message', (wanted) => {
  if (wanted === 'cpuMs') {
    const { user, system } = process.cpuUsage();
    process.send((user + system) / 1000);
    return;
  }
  // Twice, because what the first one finalises is freed by the second.
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  process.send(heapUsed + external);
});
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel.unref();
