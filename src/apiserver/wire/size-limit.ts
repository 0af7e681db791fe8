// Limits the size of stored objects to etcd's request limit, because clients are built for that limit.
import { requestEntityTooLarge } from '../../object/meta/status.ts';
import { plainFailure } from '../request/status-fault.ts';

export const maxStoredBytes = 1.5 * 1024 * 1024;

export function checkSize(text: string): void {
  // UTF-8 needs at most three bytes for one UTF-16 unit, so most texts need no byte count.
  if (text.length * 3 <= maxStoredBytes) return;
  if (Buffer.byteLength(text) > maxStoredBytes) {
    throw plainFailure('etcdserver: request is too large', requestEntityTooLarge(`limit is ${maxStoredBytes}`));
  }
}
