// A change of what a caller sees ends the view before it, although nothing else is written: a page, an exact list and a watch that
// began before it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ManagementSettings } from '../../../../src/config/settings/management-settings.ts';
import { type Bench, keysPath, openBench, people } from '../bench.ts';

const instances = '/kubernetes/management/apis/management.platform/v1/namespaces/p-shop/virtualclusterinstances';
const member = { ...people, users: people.users.map((user) => ({ ...user, groups: ['devs'] })) };
const [red] = people.teams as [ManagementSettings['teams'][number]];
const [shop, ...others] = people.projects as [ManagementSettings['projects'][number]];

let bench: Bench;
let alice: string;
beforeAll(async () => {
  bench = await openBench();
  alice = await bench.keyFor('alice-1', { user: 'alice' });
  await bench.keyFor('alice-2', { user: 'alice' });
  for (const name of ['red-1', 'red-2']) await bench.keyFor(name, { team: 'red' });
});
afterAll(() => bench.stop());
beforeEach(() => bench.api.apply(people));

async function begun(path: string) {
  const { body } = await bench.ask('GET', `${path}?limit=1`, { key: alice });
  const { resourceVersion = '', continue: next = '' } = body['metadata'] as unknown as Record<string, string>;
  const watch = await bench.follow(`${path}?watch=true&resourceVersion=${resourceVersion}`, alice);
  return { path, resourceVersion, next, watch };
}

async function codes({ path, resourceVersion, next }: Awaited<ReturnType<typeof begun>>) {
  const queries = [`limit=1&continue=${next}`, `resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`];
  return Promise.all(queries.map(async (query) => (await bench.ask('GET', `${path}?${query}`, { key: alice })).code));
}

async function firstOf(path: string, resourceVersion: string): Promise<unknown> {
  const watch = await bench.follow(`${path}?watch=true&timeoutSeconds=1&resourceVersion=${resourceVersion}`, alice);
  await watch.ended;
  return watch.events[0];
}

describe('the view of a caller before a change of the configuration', () => {
  it.each<[string, ManagementSettings]>([
    ['leaves a team', { ...people, teams: [{ ...red, users: [] }] }],
    ['joins a team', { ...people, teams: [red, { name: 'blue', users: ['alice'], groups: [] }] }],
    ['loses a group', { ...people, users: people.users.map((user) => ({ ...user, groups: [] })) }],
    ['becomes an administrator', { ...people, administrators: { users: ['root', 'alice'], groups: [] } }],
    ['becomes one by a group', { ...people, administrators: { users: ['root'], groups: ['devs'] } }],
    [
      'gets another role',
      { ...people, projects: [{ ...shop, members: [{ user: 'alice', role: 'admin' }] }, ...others] },
    ],
  ])('ends when somebody %s, and nothing is written in the meantime', async (_what, changed) => {
    const before = [await begun(keysPath), await begun(instances)];
    for (const view of before) expect(await codes(view)).toEqual([200, 200]);
    await bench.api.apply(changed);
    for (const view of before) {
      await view.watch.ended;
      expect(view.watch.events.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410 } });
      expect(await codes(view)).toEqual([410, 410]);
      expect(await firstOf(view.path, view.resourceVersion)).toMatchObject({ type: 'ERROR', object: { code: 410 } });
      const after = await begun(view.path);
      expect(await codes(after)).toEqual([200, 200]);
      after.watch.stop();
    }
  });

  it.each<[string, ManagementSettings]>([
    ['nothing', people],
    ['only limits', { ...people, keys: { ...people.keys, perOwner: 19 } }],
  ])('goes on when the configuration is read again and changes %s', async (_what, same) => {
    const before = await begun(keysPath);
    await bench.api.apply(same);
    expect(await codes(before)).toEqual([200, 200]);
    expect(before.watch.events).toEqual([]);
    before.watch.stop();
  });

  it('ends over a restart with another configuration', async () => {
    await bench.api.apply(member);
    const { resourceVersion, next, path, watch } = await begun(keysPath);
    watch.stop();
    await bench.restart({ ...people, teams: [{ ...red, users: [] }] });
    expect(await codes({ resourceVersion, next, path, watch })).toEqual([410, 410]);
  });
});
