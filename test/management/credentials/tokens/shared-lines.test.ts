import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/log.ts';
import { SharedLines } from '../../../../src/management/credentials/tokens/shared-lines.ts';
import { Followers } from '../../../../src/store/follow/follower.ts';
import { MemoryStore } from '../../../../src/store/memory-store.ts';
import { settle, VirtualClock } from '../../../virtual-clock.ts';

async function twoReplicas() {
  const clock = new VirtualClock();
  const store = new MemoryStore({ clock });
  await store.start();
  const followers = new Followers({ store, clock, log: silentLog });
  const heard: Map<string, unknown>[] = [new Map(), new Map()];
  const lines = heard.map(() => new SharedLines({ store, followers }, 'tokens/'));
  for (const [at, one] of lines.entries()) await one.start((uid, text) => heard[at]?.set(uid, JSON.parse(text)));
  const write = (at: number, line: object) =>
    (lines[at] as SharedLines).writeSideValues(new Map([['tokens/k', JSON.stringify(line)]]));
  const stop = async () => {
    for (const one of lines) await one.stop();
    await store.stop();
  };
  return { heard, lines, write, stop };
}

describe('SharedLines of two replicas', () => {
  it('agree on the generation that was first stored, with the later end, when both issue for the same rights', async () => {
    const { heard, write, stop } = await twoReplicas();
    await Promise.all([
      write(0, { generation: 10, expiresMs: 5_000, view: 'same' }),
      write(1, { generation: 11, expiresMs: 9_000, view: 'same' }),
    ]);
    await settle();
    expect(heard[0]?.get('k')).toMatchObject({ expiresMs: 9_000 });
    expect(heard[0]?.get('k')).toEqual(heard[1]?.get('k'));
    await stop();
  });

  it('keep the higher generation when the spaces have changed, and take those of a line that knows them', async () => {
    const { heard, write, stop } = await twoReplicas();
    await write(0, { generation: 10, expiresMs: 5_000, view: 'same' });
    await write(1, { generation: 11, expiresMs: 5_000, view: 'same', places: 'two' });
    await settle();
    expect(heard[0]?.get('k')).toMatchObject({ generation: 10, places: 'two' });
    await write(1, { generation: 20, expiresMs: 5_000, view: 'same', places: 'one' });
    await write(0, { generation: 10, expiresMs: 7_000, view: 'same', places: 'two' });
    await settle();
    for (const known of heard) expect(known.get('k')).toMatchObject({ generation: 20, places: 'one' });
    await stop();
  });

  it('keep the higher generation when the rights have changed, whoever writes last', async () => {
    const { heard, write, stop } = await twoReplicas();
    await write(0, { generation: 10, expiresMs: 5_000, view: 'wide' });
    await write(1, { generation: 20, expiresMs: 5_000, view: 'narrow' });
    await write(0, { generation: 10, expiresMs: 7_000, view: 'wide' });
    await settle();
    for (const known of heard) expect(known.get('k')).toMatchObject({ generation: 20, view: 'narrow' });
    await stop();
  });
});
