import { afterEach, describe, expect, it } from 'vitest';
import { createLog, type LogLevel } from '../../../src/log.ts';
import { WriteLog } from '../../../src/sync/world/write-log.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { edit, endpoints, FakeWorld, putPair } from '../fake-sync.ts';

function logAt(level: LogLevel) {
  const lines: { msg: string; level: string; requests?: object }[] = [];
  const log = createLog({ level, destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  return { log, lines, of: (message: string | RegExp) => lines.filter(({ msg }) => msg.match(message)) };
}

function write(log: WriteLog, times: number, request = 'host create'): void {
  for (let n = 0; n < times; n++) log.note({ component: 'sync', key: `a/${n}`, request }, 'object');
}

describe('WriteLog', () => {
  it('logs ten writes a second one by one, and all others in one line', async () => {
    const clock = new VirtualClock();
    const { log, lines, of } = logAt('info');
    const writes = new WriteLog({ log, clock });
    write(writes, 10);
    await clock.advance(1000);
    expect(lines).toHaveLength(10);
    write(writes, 800);
    write(writes, 22, 'host patch');
    await clock.advance(999);
    expect(of('object written')).toHaveLength(20);
    expect(of(/^wrote/)).toEqual([]);
    await clock.advance(1);
    expect(of(/^wrote/)).toMatchObject([
      { level: 'info', msg: 'wrote 812 objects', requests: { 'host create': 790, 'host patch': 22 } },
    ]);
    write(writes, 1);
    await clock.advance(5000);
    expect(of(/^wrote/)).toHaveLength(1);
    expect(of('object written')).toHaveLength(21);
    expect(clock.pendingTimers).toBe(0);
  });

  it('logs every write at level debug', async () => {
    const clock = new VirtualClock();
    const { log, of } = logAt('debug');
    const writes = new WriteLog({ log, clock });
    write(writes, 100);
    expect(of('object written').map(({ level }) => level)).toEqual([
      ...Array<string>(10).fill('info'),
      ...Array<string>(90).fill('debug'),
    ]);
  });

  it('says whether an object was written, taken over or removed', async () => {
    const clock = new VirtualClock();
    const { log, lines } = logAt('info');
    const writes = new WriteLog({ log, clock });
    writes.note({ component: 'sync', request: 'host create' }, 'object');
    writes.note({ component: 'sync', request: 'host patch', isTakeOver: true }, 'object');
    writes.note({ component: 'sync', request: 'host remove' }, 'content');
    expect(lines.map(({ msg }) => msg)).toEqual(['object written', 'object taken over', 'content removed']);
    expect(lines[1]).not.toHaveProperty('isTakeOver');
    await clock.advance(1000);
    write(writes, 12);
    write(writes, 1, 'host remove');
    await clock.advance(1000);
    write(writes, 10);
    write(writes, 30, 'host remove');
    await clock.advance(1000);
    expect(lines.map(({ msg }) => msg).filter((msg) => /and|removed 30/.test(msg))).toEqual([
      'wrote 2 objects and removed 1',
      'removed 30 objects',
    ]);
  });

  it('logs the counted writes when it is flushed', () => {
    const clock = new VirtualClock();
    const { log, of } = logAt('info');
    const writes = new WriteLog({ log, clock });
    write(writes, 11);
    writes.flush();
    expect(of(/^wrote/)).toMatchObject([{ msg: 'wrote 1 object' }]);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('a sync that writes many objects', () => {
  let world: FakeWorld | undefined;
  afterEach(() => world?.stop());

  it('says that it took over an object, and removed one', async () => {
    const { log, of } = logAt('info');
    world = new FakeWorld();
    putPair(world, 'web');
    world.host.put('endpoints', {
      ...endpoints('x', '192.168.9.9'),
      metadata: { name: 'web-x-default-x-vc', namespace: 'vcluster-vc' },
    });
    await world.run({ log });
    expect(of(/^object/).map(({ msg }) => msg)).toEqual(['object taken over']);
    await world.change(() => world!.virtual.remove('endpoints', 'default', 'web'));
    expect(of(/^object/).map(({ msg }) => msg)).toEqual(['object taken over', 'object removed']);
    // Two kinds may have objects of one name.
    expect(of(/^object/)).toMatchObject([{ kind: 'Endpoints' }, { kind: 'Endpoints' }]);
  });

  it('says of which kind an object is that it refuses', async () => {
    const { log, of } = logAt('info');
    world = new FakeWorld({ settings: { addressPolicy: { allow: [], deny: ['10.0.0.0/8'] } } });
    putPair(world, 'web', '10.9.0.1');
    await world.run({ log });
    expect(of('object refused')).toMatchObject([{ kind: 'Endpoints', key: 'default/web', reason: 'AddressRefused' }]);
  });

  it('keeps its log short and its numbers right', async () => {
    const { log, lines, of } = logAt('info');
    world = new FakeWorld();
    for (let n = 0; n < 300; n++) putPair(world, `web${n}`);
    await world.run({ log });
    expect(of('object written')).toHaveLength(10);
    await world.change(() => {
      edit(world!.host, world!.copy('web0'), (draft) => {
        draft.metadata.labels = { ...draft.metadata.labels, host: '1' };
      });
    });
    await world.stop();
    expect(of(/^wrote/)).toMatchObject([{ requests: { 'host create': 290 } }]);
    expect(lines.length).toBeLessThan(20);
    world = undefined;
  });
});
