import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { expect, it } from 'vitest';
import { certificateHolder, type HolderParts } from '../../../../src/management/credentials/issue/kubeconfigs.ts';

// Each such client left an error with a stack in the log, without a key: it could fill the disk.
it('a client that has hung up has shown no certificate', () => {
  const socket = new TLSSocket(new Socket(), { isServer: true });
  socket.destroy();
  expect(socket.getPeerCertificate()).toBe(null);
  expect(certificateHolder({ socket } as unknown as IncomingMessage, 'i', {} as HolderParts)).toBe(undefined);
});
