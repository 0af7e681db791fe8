import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, keysPath, movedClock, openBench, until } from '../bench.ts';

let bench: Bench;
const clock = movedClock();
beforeAll(async () => {
  bench = await openBench({ clock });
});
afterAll(() => bench.stop());

const read = async (name: string) => (await bench.ask('GET', `${keysPath}/${name}`)).body;
const statusOf = async (name: string) => (await read(name))['status'] as Record<string, unknown>;
const versionOf = async (name: string) => (await read(name)).metadata?.['resourceVersion'];

describe('the status of a key', () => {
  it('holds phase, end and conditions, as the table shows them', async () => {
    await bench.keyFor('endless', { user: 'alice' });
    expect(await statusOf('endless')).toEqual({
      phase: 'Active',
      conditions: [{ type: 'Ready', status: 'True', reason: 'Active' }],
    });
    await bench.keyFor('off', { user: 'alice', disabled: true, ttl: 3600 });
    expect(await statusOf('off')).toEqual({
      phase: 'Disabled',
      expiresAt: expect.stringMatching(/^\d{4}-.*:\d\dZ$/),
      conditions: [
        { type: 'Ready', status: 'False', reason: 'Disabled' },
        { type: 'Expired', status: 'False', reason: 'Disabled' },
      ],
    });
    const { metadata } = await read('off');
    const made = Date.parse(String(metadata?.['creationTimestamp']));
    expect(Date.parse(String((await statusOf('off'))['expiresAt']))).toBe(made + 3_600_000);
  });

  it('tells the expiry to those who watch, with one write, and no use moves the resourceVersion', async () => {
    const key = await bench.keyFor('short', { user: 'alice', ttl: 100 });
    const before = await versionOf('short');
    for (let use = 0; use < 3; use++) await bench.ask('GET', '/kubernetes/management/api', { key });
    expect(await versionOf('short')).toBe(before);
    const one = 'watch=true&fieldSelector=metadata.name%3Dshort';
    const watch = await bench.follow(`${keysPath}?${one}&resourceVersion=${before}`, bench.admin);
    clock.moveSeconds(101);
    // The clock on the wall was set, which no timer follows; any change of a key makes the server look.
    await bench.keyFor('mover', { user: 'alice' });
    await until(() => watch.events.length > 0, 'the event of the expiry', 10_000);
    watch.stop();
    expect(watch.events).toHaveLength(1);
    expect(watch.events[0]).toMatchObject({ type: 'MODIFIED', object: { status: { phase: 'Expired' } } });
    expect(await statusOf('short')).toMatchObject({
      phase: 'Expired',
      conditions: [
        { type: 'Ready', status: 'False', reason: 'Expired' },
        { type: 'Expired', status: 'True', reason: 'Expired' },
      ],
    });
    const after = await versionOf('short');
    // Other keys that change let the server look again.
    await bench.keyFor('other', { user: 'alice', ttl: 1_000 });
    await bench.ask('DELETE', `${keysPath}/other`);
    await bench.restart();
    clock.fire(0);
    await bench.keyFor('another', { user: 'alice' });
    clock.fire(1_000);
    await bench.keyFor('last', { user: 'alice' });
    expect(await versionOf('short')).toBe(after);
  });
});

it('a key that ends soon expires for those who watch when its time comes', async () => {
  await bench.keyFor('soon', { user: 'alice', ttl: 2 });
  const watch = await bench.follow(`${keysPath}?watch=true&fieldSelector=metadata.name%3Dsoon`, bench.admin);
  const phases = () => watch.events.map(({ object }) => (object as { status?: { phase?: string } })?.status?.phase);
  await until(() => phases().at(-1) === 'Expired', 'the event of the expiry', 10_000);
  watch.stop();
  expect(phases().filter((phase) => phase === 'Expired')).toHaveLength(1);
});
