// A write of content was refused because somebody else was quicker. Whatever happens to the read that has to follow, nothing is written before one
// was answered; and what the read has shown counts no longer behind the next write.
import { afterEach, describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import { hostSecret, secret } from './fake-references.ts';
import { change, start, world } from './reference-stage.ts';

afterEach(() => world.stop());

const failed: Answer = { kind: 'failed', status: 500, retryAfterMs: undefined, message: 'no' };
const conflict: Answer = { kind: 'conflict', message: 'somebody was quicker' };

/** Writes down what is sent about content of one side, and answers the next requests in other words than its server. */
async function begin(side: 'host' | 'virtual', prepare: () => void = () => {}) {
  const sent: string[] = [];
  const [removals, reads]: [Answer[], Answer[]] = [[], []];
  await start({}, (w) => {
    if (side === 'host') w.virtual.put('secrets', secret('db'));
    else w.host.put('secrets', hostSecret('db'));
    w.refer({ k: 'db' });
    const server = w[side];
    const writer = server.writer();
    server.writer = () => ({
      ...writer,
      get: async (ref, place) => {
        if (ref.resource === 'secrets') sent.push('get');
        return (ref.resource === 'secrets' ? reads.shift() : undefined) ?? writer.get(ref, place);
      },
      remove: async (ref, place, conditions) => {
        sent.push('remove');
        return removals.shift() ?? writer.remove(ref, place, conditions);
      },
    });
  });
  prepare();
  sent.length = 0;
  return { sent, removals, reads };
}

const unrefer = () =>
  change(world.virtual, 'endpoints', world.virtual.get('endpoints', 'default', 'web'), ({ metadata }) => {
    metadata.annotations = {};
  });

describe.each(['host', 'virtual'] as const)('after a conflict on the %s side', (side) => {
  it('what was read and is removed then is not removed twice, although the watch is behind', async () => {
    const { sent, removals } = await begin(side);
    removals.push(conflict);
    await unrefer();
    expect(sent).toEqual(['remove', 'get', 'remove']);
  });

  it('a read that fails comes again before the write does', async () => {
    const { sent, removals, reads } = await begin(side);
    removals.push(conflict);
    reads.push(failed, failed);
    await unrefer();
    for (let nth = 0; nth < 10; nth++) {
      await world.clock.advance(1_000);
      await world.quiet();
    }
    expect(sent).toEqual(['remove', 'get', 'get', 'get', 'remove']);
  });
});
