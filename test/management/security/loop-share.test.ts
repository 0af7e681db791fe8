// Requests to a cluster behind the server are work of its event loop too: their key and their owner have a share of it.
import { expect, it } from 'vitest';
import { VirtualClock } from '../../virtual-clock.ts';
import { cluster, pods } from '../proxy/behind-stage.ts';
import { openBehind, rawClient, requestText } from '../proxy/upstream.ts';
import { type Answer, keysPath, until } from '../server/bench.ts';

it('refuses a key that uses too much of the event loop with requests to a cluster, there and in the API, and nobody else (at length)', async () => {
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

it('counts an answer in tiny pieces for the key that asked, after its head too', async () => {
  const clock = new VirtualClock();
  const behind = await openBehind({ clock, loopShares: { ofOne: 0.008, ofOwner: 1, altogether: 1, small: 1 } });
  try {
    const { bench } = behind;
    const streams = { pieces: '1\r\na\r\n'.repeat(2_000), whole: `2000\r\n${'a'.repeat(0x2000)}\r\n` };
    const codes: Record<string, number> = {};
    for (const [name, part] of Object.entries(streams)) {
      const key = await bench.keyFor(name, { user: 'alice' });
      behind.answerWith(({ socket }) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n');
        const more = () => {
          while (socket.write(part));
        };
        socket.on('drain', more);
        more();
      });
      const client = await rawClient(bench);
      client.write(requestText(`GET ${cluster}${pods} HTTP/1.1`, [`Authorization: Bearer ${key}`]));
      await until(() => client.text().length > 1_000, 'the first bytes');
      // A slice of tiny pieces every ten milliseconds; what is whole goes on by itself.
      if (name === 'whole') await until(() => client.text().length > 1_000_000, 'far more bytes than in pieces');
      for (let slice = 0; name === 'pieces' && slice < 250; slice++) {
        const before = client.text().length;
        await clock.advance(10);
        await until(() => client.text().length > before, 'the next slice');
      }
      codes[name] = (await bench.ask('GET', `${keysPath}/none`, { key })).code;
      client.socket.destroy();
    }
    expect(codes).toEqual({ pieces: 429, whole: 404 });
  } finally {
    await behind.stop();
  }
}, 60_000);
