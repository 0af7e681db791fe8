// A write was refused because somebody else was quicker. Whatever happens to the read that has to follow, nothing is written before one was answered.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../../src/cluster/answer.ts';
import type { NamespaceMapping } from '../../../../src/sync/plan/placement.ts';
import { edit, type FakeOptions, FakeWorld, putPair } from '../../fake-sync.ts';

const failed: Answer = { kind: 'failed', status: 500, retryAfterMs: undefined, message: 'no' };
const conflict: Answer = { kind: 'conflict', message: 'somebody was quicker' };

/** Writes down requests for Endpoints, and fails the next ones in other words than the server. */
async function begin(options: FakeOptions = {}) {
  const world = new FakeWorld(options);
  const sent: string[] = [];
  const [writes, reads]: [Answer[], Answer[]] = [[], []];
  const writer = world.host.writer();
  const asked = (
    verb: string,
    place: { namespace: string; name: string },
    [answers, send]: [Answer[], () => Promise<Answer>],
  ) => {
    sent.push(`${verb} ${place.namespace}/${place.name}`);
    return Promise.resolve(answers.shift() ?? send());
  };
  putPair(world, 'web', '10.0.0.1');
  await world.run({
    hostWriter: {
      ...writer,
      get: (ref, place) =>
        ref.resource === 'endpoints'
          ? asked('get', place, [reads, () => writer.get(ref, place)])
          : writer.get(ref, place),
      patch: (ref, place, patch) => asked('patch', place, [writes, () => writer.patch(ref, place, patch)]),
      remove: (ref, place, conditions) => asked('remove', place, [writes, () => writer.remove(ref, place, conditions)]),
    },
  });
  sent.length = 0;
  return { world, sent, writes, reads };
}

const copy = 'vcluster-vc/web-x-default-x-vc';
const wait = async (world: FakeWorld): Promise<void> => {
  for (let nth = 0; nth < 20; nth++) {
    await world.clock.advance(1_000);
    await world.quiet();
  }
};

describe('after a conflict', () => {
  it('a read that fails comes again before the write does', async () => {
    const { world, sent, writes, reads } = await begin();
    writes.push(conflict);
    reads.push(failed, failed);
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    await wait(world);
    const get = `get ${copy}`;
    expect(sent).toEqual([`remove ${copy}`, get, get, get, `remove ${copy}`]);
    await world.stop();
  });

  it('at a former place the object there is read, not the one at the place of today', async () => {
    let now = 'first';
    const mapping: NamespaceMapping = {
      hostNamespaceOf: (one) => (one === 'default' ? now : undefined),
      mappingsOnly: true,
    };
    const { world, sent, writes } = await begin({ mapping });
    now = 'second';
    writes.push(conflict);
    edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), () => {});
    world.sync.setRules({ ...world.sync.world.rules });
    await world.quiet();
    await wait(world);
    expect(sent).toEqual(['remove first/web', 'get first/web', 'remove first/web']);
    await world.stop();
  });
});
