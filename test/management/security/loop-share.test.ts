// Requests to a cluster behind the server are work of its event loop too: their key and their owner have a share of it.
import { expect, it } from 'vitest';
import { cluster, pods } from '../proxy/behind-stage.ts';
import { openBehind } from '../proxy/upstream.ts';
import { type Answer, keysPath } from '../server/bench.ts';

it('refuses a key that uses too much of the event loop with requests to a cluster, there and in the API, and nobody else', async () => {
  const behind = await openBehind({ loopShares: { ofOne: 0.005, ofOwner: 1, altogether: 1, small: 1 } });
  try {
    const { bench } = behind;
    const key = await bench.keyFor('busy', { user: 'alice' });
    const list = (how: object) => bench.ask('GET', cluster + pods, how);
    let last: Answer | undefined;
    for (let count = 0; count < 1_000 && last?.code !== 429; count++) last = await list({ key });
    const refused = {
      code: 429,
      headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
      body: { message: expect.stringContaining('your access key has used more than') },
    };
    expect(last).toMatchObject(refused);
    expect(await bench.ask('GET', `${keysPath}/busy`, { key })).toMatchObject(refused);
    const seen = behind.seen.length;
    expect(await list({ key })).toMatchObject(refused);
    expect(behind.seen.length).toBe(seen);
    const calm = await bench.keyFor('calm', { user: 'alice' });
    expect(await list({ key: calm })).toMatchObject({ code: 200 });
  } finally {
    await behind.stop();
  }
});
