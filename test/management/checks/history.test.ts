// Checks of what happens when the history that a client asks for is gone, over TLS, on a store that the test compacts.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { MemoryStore } from '../../../src/store/memory-store.ts';
import { type Bench, type Body, keysPath, openBench, until } from '../server/bench.ts';

const copyTo = () => Promise.reject(new Error('nothing is copied here'));
const store = Object.assign(new MemoryStore({ clock: systemClock }), { copyTo });
let bench: Bench;
beforeAll(async () => {
  bench = await openBench({ database: store });
  for (const name of ['a', 'b', 'c', 'd']) await bench.keyFor(name, { user: 'alice' });
});
afterAll(() => bench.stop());

const versionOf = (body: Body) => String(body['metadata']?.['resourceVersion']);
const namesIn = (body: Body) =>
  (body['items'] as unknown as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);

/** A page of two, whose version is compacted away afterwards. */
async function oldPage(): Promise<Body> {
  const { body } = await bench.ask('GET', `${keysPath}?limit=2`);
  const { body: changed } = await bench.ask('PATCH', `${keysPath}/a`, {
    type: 'application/merge-patch+json',
    body: { metadata: { labels: { at: String(performance.now()) } } },
  });
  await store.compact(Number(versionOf(changed)));
  return body;
}

describe('a version that was compacted', () => {
  it('an expired continue token is 410 with a token that goes on in the present', async () => {
    const page = await oldPage();
    const token = encodeURIComponent(String(page['metadata']?.['continue']));
    const expired = await bench.ask('GET', `${keysPath}?limit=10&continue=${token}`);
    expect(expired).toMatchObject({ code: 410, body: { kind: 'Status', reason: 'Expired' } });
    const next = encodeURIComponent(String(expired.body['metadata']?.['continue']));
    const rest = await bench.ask('GET', `${keysPath}?limit=10&continue=${next}`);
    expect([rest.code, [...namesIn(page), ...namesIn(rest.body)]]).toEqual([
      200,
      namesIn((await bench.ask('GET', keysPath)).body),
    ]);
  });

  it('a list of exactly this version is 410', async () => {
    const version = versionOf(await oldPage());
    expect(await bench.ask('GET', `${keysPath}?resourceVersion=${version}&resourceVersionMatch=Exact`)).toMatchObject({
      code: 410,
      body: { reason: 'Expired', message: expect.stringContaining('resourceVersion') },
    });
  });

  it('a watch from it is a stream with one ERROR of 410, and its end', async () => {
    const version = versionOf(await oldPage());
    const watch = await bench.follow(`${keysPath}?watch=true&resourceVersion=${version}`, bench.admin);
    await watch.ended;
    expect(watch.events).toMatchObject([
      { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: expect.any(String) } },
    ]);
  });

  it('and a client that lists again goes on from there', async () => {
    const { body } = await bench.ask('GET', keysPath);
    const watch = await bench.follow(`${keysPath}?watch=true&resourceVersion=${versionOf(body)}`, bench.admin);
    await bench.keyFor('later', { user: 'alice' });
    await until(() => watch.events.length > 0, 'the new key');
    expect(watch.events).toMatchObject([{ type: 'ADDED', object: { metadata: { name: 'later' } } }]);
    watch.stop();
  });
});
