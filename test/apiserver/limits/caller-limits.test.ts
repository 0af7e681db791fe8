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
    const of = { key: 'key', owner: 'alice' };
    limits.connects(socket.destroy(), of);
    limits.admit('requests', of, response);
    limits.admit('proxied', of, socket);
    limits.admitBody(of, response, 1_000);
    const held = (['connections', 'requests', 'proxied', 'bodies'] as const).map((one) => limits.open(one));
    expect(held).toEqual([0, 0, 0, 0]);
  });

  it('counts a connection once for each credential on it, and gives it back when it closes', () => {
    const limits = new CallerLimits();
    const socket = new Socket();
    for (const credential of ['key', 'key', 'another', 'key'])
      limits.connects(socket, { key: credential, owner: 'alice' });
    expect(limits.open('connections')).toBe(2);
    socket.emit('close', false);
    expect(limits.open('connections')).toBe(0);
  });

  const openSocket = () => new Socket();
  const connect = (limits: CallerLimits, owner: string, key: string) => {
    const socket = openSocket();
    limits.connects(socket, { key, owner });
    return socket;
  };

  // An owner makes keys as fast as requests; four of them had all connections of a small server.
  it('counts the keys of an owner together, however many they are', () => {
    const limits = new CallerLimits({ connections: { ofOne: 4, altogether: 20 } });
    for (let at = 0; at < 10; at++) connect(limits, 'mallory', `key-${at}`);
    expect(() => connect(limits, 'mallory', 'one-more')).toThrow(
      'the access keys of your owner have 10 open connections, and one owner may have 10',
    );
    expect(limits.refused('connections')).toBe(1);
    expect(connect(limits, 'alice', 'innocent').destroyed).toBe(false);
  });

  it('ends what the largest owner holds, the oldest first, for one who holds less, when all is taken', () => {
    const limits = new CallerLimits({ connections: { ofOne: 4, altogether: 8 } });
    const first = Array.from({ length: 4 }, (_, at) => connect(limits, 'mallory', `m-${at}`));
    const second = Array.from({ length: 4 }, (_, at) => connect(limits, 'trudy', `t-${at}`));
    const alices = [connect(limits, 'alice', 'a'), connect(limits, 'alice', 'a')];
    const ended = (sockets: Socket[]) => sockets.map(({ destroyed }) => destroyed);
    expect(ended(first)).toEqual([true, false, false, false]);
    expect(ended(second)).toEqual([true, false, false, false]);
    expect([limits.open('connections'), limits.gaveWay('connections')]).toEqual([8, 2]);
    // Whoever holds as much as the others makes nobody give way, and nobody loses anything to its own next connection.
    expect(() => connect(limits, 'alice', 'a')).toThrow('this server has 8 open connections');
    expect(() => connect(limits, 'mallory', 'm-9')).toThrow('this server has 8 open connections');
    expect(ended(alices)).toEqual([false, false]);
  });

  it.each(['requests', 'watches', 'proxied'] as const)('is fair to owners in %s', (held) => {
    const limits = new CallerLimits({ [held]: { ofOne: 2, altogether: 4 } });
    const admit = (owner: string, key: string) => {
      const socket = openSocket();
      limits.admit(held, { key, owner }, socket);
      return socket;
    };
    const all = [admit('mallory', 'm-0'), admit('mallory', 'm-1'), admit('trudy', 't-0'), admit('trudy', 't-1')];
    expect(() => admit('mallory', 'm-2')).toThrow('the access keys of your owner have 2');
    expect(admit('alice', 'a').destroyed).toBe(false);
    expect(all.map(({ destroyed }) => destroyed)).toEqual([true, false, false, false]);
  });

  it('ends unfinished bodies of the largest owner alone, and none that has come whole', () => {
    const limits = new CallerLimits({ bodies: { ofOne: 200, altogether: 400 } });
    const send = (owner: string, bytes: number, isWhole: boolean) => {
      const request = Object.assign(new IncomingMessage(openSocket()), {
        headers: { 'content-length': String(bytes) },
        complete: isWhole,
      });
      limits.admitBody({ key: `${owner}-${bytes}`, owner }, new ServerResponse(request), 1_000);
      return request.socket;
    };
    const alices = send('alice', 50, false);
    const whole = send('mallory', 90, true);
    const begun = send('mallory', 100, false);
    send('trudy', 150, true);
    const bobs = send('bob', 60, false);
    expect([alices, whole, begun, bobs].map(({ destroyed }) => destroyed)).toEqual([false, false, true, false]);
  });
});
