import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { upgradeOf } from '../../../src/management/proxy/forward/upgrade.ts';

const asks = (headers: IncomingMessage['headers'], isUpgrade: boolean) =>
  upgradeOf({ headers } as IncomingMessage, isUpgrade);

describe('upgradeOf()', () => {
  it.each<[what: string, headers: IncomingMessage['headers'], isUpgrade: boolean, found: string | undefined]>([
    ['an ordinary request', {}, false, undefined],
    ['an ordinary request with a body', { 'content-length': '9' }, false, undefined],
    ['a WebSocket', { upgrade: 'websocket' }, true, 'websocket'],
    ['a WebSocket in capitals', { upgrade: 'WebSocket' }, true, 'websocket'],
    ['SPDY', { upgrade: 'SPDY/3.1' }, true, 'SPDY/3.1'],
    ['SPDY in small letters', { upgrade: 'spdy/3.1', 'content-length': '0' }, true, 'SPDY/3.1'],
  ])('permits %s', (_, headers, isUpgrade, found) => {
    expect(asks(headers, isUpgrade)).toBe(found);
  });

  it.each<[what: string, headers: IncomingMessage['headers'], isUpgrade: boolean, says: RegExp]>([
    ['HTTP/2', { upgrade: 'h2c' }, true, /the protocol "h2c" cannot be changed to; use websocket or SPDY\/3.1/],
    ['two protocols at once', { upgrade: 'websocket, h2c' }, true, /the protocol "websocket, h2c"/],
    ['no protocol', {}, true, /the protocol "" cannot/],
    ['a protocol without Connection', { upgrade: 'websocket' }, false, /must have the header "Connection: Upgrade"/],
    ['a body with a length', { upgrade: 'websocket', 'content-length': '9' }, true, /must not have a body/],
    [
      'a body that Node takes for an ordinary one',
      { upgrade: 'SPDY/3.1', 'content-length': '5' },
      false,
      /must not have a body/,
    ],
    ['a body in chunks', { upgrade: 'SPDY/3.1', 'transfer-encoding': 'chunked' }, true, /must not have a body/],
  ])('refuses %s with 400', (_, headers, isUpgrade, says) => {
    expect(() => asks(headers, isUpgrade)).toThrow(
      expect.objectContaining({ status: expect.objectContaining({ code: 400, message: expect.stringMatching(says) }) }),
    );
  });
});
