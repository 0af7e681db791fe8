// Opens the port of a server. A fault before the server listens is the caller's. A later one, such as a connection that the system
// cannot accept for want of file descriptors, only becomes a line in the log: without a listener it would end the process.
import type { ListenOptions, Server } from 'node:net';
import type { Log } from '../../log.ts';

export function listen(server: Server, at: ListenOptions, log?: Log): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, () => {
      server.off('error', reject);
      server.on('error', (error) =>
        log?.error({ component: 'main', error: String(error) }, 'a connection was not accepted'),
      );
      resolve();
    });
  });
}

/** For `.catch()`: names the setting of the address in the error, because a process has several addresses. */
export function fromSetting(setting: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof Error ? Object.assign(error, { setting }) : error;
  };
}

/** An address that cannot be opened. */
export function isListenFault(error: unknown): boolean {
  return error instanceof Error && 'setting' in error && 'syscall' in error;
}
