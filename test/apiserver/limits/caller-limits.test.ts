// Bounds that follow the memory limit of the process, and counts that are given back.
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { CallerLimits, memoryShare } from '../../../src/apiserver/limits/caller-limits.ts';

const mib = 1024 * 1024;

describe('memoryShare()', () => {
  it.each([
    [256, 16],
    [384, 24],
    [1024, 32],
    [2 ** 43, 32],
    [0, 32],
  ])('of a limit of %i MiB', (limit, wanted) => {
    expect(memoryShare(1 / 16, 32 * mib, limit * mib)).toBe(wanted * mib);
  });
});

describe('CallerLimits', () => {
  // Each first use of a key waits for the disk, so a client with many keys could fill the count of all for ever.
  it('gives back what a client held that hung up before it was counted', () => {
    const limits = new CallerLimits();
    const socket = new Socket();
    const request = Object.assign(new IncomingMessage(socket), { headers: { 'content-length': '100' } });
    request.complete = true;
    const response = new ServerResponse(request);
    response.destroy();
    limits.connects(socket.destroy(), 'key');
    limits.admit('requests', 'key', response);
    limits.admit('proxied', 'key', socket);
    limits.admitBody('key', response, 1_000);
    const held = (['connections', 'requests', 'proxied', 'bodies'] as const).map((one) => limits.open(one));
    expect(held).toEqual([0, 0, 0, 0]);
  });

  it('counts a connection once for each credential on it, and gives it back when it closes', () => {
    const limits = new CallerLimits();
    const socket = new Socket();
    for (const credential of ['key', 'key', 'another', 'key']) limits.connects(socket, credential);
    expect(limits.open('connections')).toBe(2);
    socket.emit('close', false);
    expect(limits.open('connections')).toBe(0);
  });
});
