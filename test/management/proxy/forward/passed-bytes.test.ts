// What passes the proxy and is not read: who waits, until when, and what is cut. The queues of the system are a table of the test.
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/log.ts';
import { queueName, queuesIn } from '../../../../src/management/proxy/forward/kernel-queues.ts';
import { PassedBytes } from '../../../../src/management/proxy/forward/passed-bytes.ts';
import { VirtualClock } from '../../../virtual-clock.ts';

const kib = 1024;

class Connection extends EventEmitter {
  readonly localPort = 443;
  readonly remotePort: number;
  readonly writableLength = 0;
  destroyed = false;

  constructor(port: number) {
    super();
    this.remotePort = port;
  }

  destroy(): void {
    this.destroyed = true;
    queueMicrotask(() => this.emit('close'));
  }
}

function stage({ mostBytes = 1024 * kib, tells = true } = {}) {
  const clock = new VirtualClock();
  const held = new Map<string, number>();
  let looks = 0;
  const queues = async () => {
    looks++;
    return tells ? new Map(held) : undefined;
  };
  const passed = new PassedBytes({ clock, log: silentLog, mostBytes, queues });
  let ports = 1_000;
  const open = (owner = 'alice') => {
    const connection = new Connection(ports++);
    const gate = passed.gate(connection as unknown as Socket, owner);
    const went: number[] = [];
    return {
      connection,
      /** Whether more may follow; later calls of the gate are counted in `went`. */
      pass: (bytes: number) => gate(bytes, () => went.push(clock.now())),
      went,
      /** What the system holds of it. */
      holds: (bytes: number) => held.set(queueName(443, connection.remotePort), bytes),
    };
  };
  return { clock, open, looks: () => looks };
}

describe('bytes that pass the proxy', () => {
  it('go on while they are few, and nobody asks the system', async () => {
    const { open, looks } = stage();
    const one = open();
    expect([one.pass(600 * kib), one.pass(400 * kib)]).toEqual([true, true]);
    expect(looks()).toBe(0);
  });

  it('wait beyond the bound until the system says that they were taken', async () => {
    const { clock, open } = stage();
    const one = open();
    for (let at = 0; at < 4; at++) one.pass(250 * kib);
    expect(one.pass(100 * kib)).toBe(false);
    await clock.advance(0);
    expect(one.went).toHaveLength(1);
    expect(one.connection.destroyed).toBe(false);
  });

  it('do not wait while their connection has few, however much others hold', async () => {
    const { clock, open } = stage();
    const large = open('mallory');
    large.holds(1_100 * kib);
    for (let at = 0; at < 11; at++) large.pass(100 * kib);
    const small = open('alice');
    expect(small.pass(60 * kib)).toBe(true);
    expect(small.pass(60 * kib)).toBe(false);
    await clock.advance(100);
    expect([large.went, small.went]).toEqual([[], []]);
  });

  it('that nobody reads are cut for those who wait, of the owner who holds most', async () => {
    const { clock, open } = stage();
    const alices = open('alice');
    alices.pass(200 * kib);
    alices.holds(200 * kib);
    const mallorys = Array.from({ length: 4 }, () => open('mallory'));
    for (const one of mallorys) {
      one.pass(300 * kib);
      one.holds(300 * kib);
    }
    const last = open('bob');
    expect(last.pass(70 * kib)).toBe(false);
    await clock.advance(200);
    expect(mallorys.some(({ connection }) => connection.destroyed)).toBe(false);
    await clock.advance(400);
    expect(mallorys.filter(({ connection }) => connection.destroyed).length).toBeGreaterThan(1);
    expect(alices.connection.destroyed).toBe(false);
    expect(last.went).toHaveLength(1);
  });

  it('that are read, however slowly, are not cut', async () => {
    const { clock, open } = stage();
    const slow = open();
    let holds = 1_200 * kib;
    slow.holds(holds);
    for (let at = 0; at < 4; at++) slow.pass(300 * kib);
    for (let at = 0; at < 20; at++) {
      holds -= 4 * kib;
      slow.holds(holds);
      await clock.advance(100);
    }
    expect(slow.connection.destroyed).toBe(false);
  });

  it('count until their connection closes, also of an answer that has ended', async () => {
    const { clock, open } = stage();
    const ended = open();
    ended.pass(1_000 * kib);
    ended.holds(1_000 * kib);
    const next = open('bob');
    next.holds(70 * kib);
    expect(next.pass(70 * kib)).toBe(false);
    await clock.advance(0);
    expect(next.went).toEqual([]);
    ended.connection.destroy();
    await clock.advance(60);
    expect(next.went).toHaveLength(1);
  });

  it('are taken for read where the system does not tell', async () => {
    const { clock, open } = stage({ tells: false });
    const one = open();
    for (let at = 0; at < 5; at++) one.pass(300 * kib);
    await clock.advance(0);
    expect(one.went.length).toBeGreaterThan(0);
  });

  it('pass a slice at a time, and all in their turn', async () => {
    const { open } = stage({ mostBytes: 1024 * 1024 * kib });
    const all = Array.from({ length: 200 }, () => open());
    const shut = all.filter((one) => !one.pass(64 * kib));
    expect(shut.length).toBeGreaterThan(160);
    let most = 0;
    let turns = 0;
    const gone = () => shut.filter(({ went }) => went.length > 0).length;
    for (let before = gone(); before < shut.length && turns < 100; turns++) {
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, gone() - before);
      before = gone();
    }
    expect(gone()).toBe(shut.length);
    expect(most).toBeLessThanOrEqual(32);
  });
});

describe('the table of connections of the system', () => {
  it('tells what was not taken, of both families', () => {
    const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:01BB 0100007F:03E8 01 00012345:00000000 01:00000014 00000000     0        0 1 2 0 20 4 24 10 -1
   1: 0100007F:01BB 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 0000000000000000FFFF00000100007F:01BB 0000000000000000FFFF00000100007F:03E9 01 00000010:00000000 01:00000014 00000000 0 0 3`;
    expect([...queuesIn(text)]).toEqual([
      ['443 1000', 0x12345],
      ['443 1001', 0x10],
    ]);
  });
});
