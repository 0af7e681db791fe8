import { afterEach, expect, it } from 'vitest';
import type { PatchEntry } from '../../../src/config/settings/settings.ts';
import { FakeWorld, putPair } from '../fake-sync.ts';
import { entry } from '../patch/fake-patch.ts';

let world: FakeWorld;
afterEach(() => world.stop());

const older = { namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' };
const younger = { namespace: 'default-x-default', creationTimestamp: '2026-01-02T00:00:00Z' };

/** Creates two objects that claim one host name; without patches the older one would win. */
async function collide(patch: PatchEntry, ipOfOlder: string): Promise<void> {
  world = new FakeWorld({ settings: { addressPolicy: { allow: [], deny: ['10.9.0.0/16'] } }, patches: [patch] });
  putPair(world, 'col-x-default', ipOfOlder, older);
  putPair(world, 'col', '10.0.0.2', younger);
  await world.run();
}
const holder = (): string | undefined =>
  world.host.get('endpoints', 'vcluster-vc', 'col-x-default-x-default-x-vc')?.metadata.annotations?.[
    'vcluster.loft.sh/object-name'
  ];

const rewrite = (refused: string) =>
  entry({
    path: 'subsets[*].addresses[*].ip',
    expression: `context.virtualObject.metadata.name === "${refused}" ? "10.9.0.1" : "10.0.0.9"`,
  });

it('a contested name goes to the object whose patched addresses are allowed', async () => {
  await collide(rewrite('col-x-default'), '10.0.0.1');
  expect(holder()).toBe('col');
});

it('an object wins the name when only a patch makes its address allowed', async () => {
  await collide(rewrite('neither-of-them'), '10.9.0.1');
  expect(holder()).toBe('col-x-default');
});

it('the holder loses the name when its patches begin to produce a refused address', async () => {
  const expression = 'context.virtualObject.metadata.labels?.moved === "yes" ? "10.9.0.1" : value';
  await collide(entry({ path: 'subsets[*].addresses[*].ip', expression }), '10.0.0.1');
  expect(holder()).toBe('col-x-default');
  await world.change(() => putPair(world, 'col-x-default', '10.0.0.1', { ...older, labels: { moved: 'yes' } }));
  expect(holder()).toBe('col');
  await world.change(() => putPair(world, 'col-x-default', '10.0.0.1', older));
  expect(holder()).toBe('col');
});
