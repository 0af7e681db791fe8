// The largest object that is kept: what etcd takes in one request, and with it what every client is built for.
import { requestEntityTooLarge } from '../../object/meta/status.ts';
import { plainFailure } from '../request/status-fault.ts';

export const maxStoredBytes = 1.5 * 1024 * 1024;

export function checkSize(text: string): void {
  // UTF-8 is at most three bytes per UTF-16 unit: most texts need no count.
  if (text.length * 3 <= maxStoredBytes) return;
  if (Buffer.byteLength(text) > maxStoredBytes) {
    throw plainFailure('etcdserver: request is too large', requestEntityTooLarge(`limit is ${maxStoredBytes}`));
  }
}
