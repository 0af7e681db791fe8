import { afterEach, expect, it } from 'vitest';
import { PaperWorld, putPair } from './paper-sync.ts';
import { entry } from './patch/paper-patch.ts';

let world: PaperWorld;
afterEach(() => world.stop());

const rewrite = (refused: string) =>
  entry({
    path: 'subsets[*].addresses[*].ip',
    expression: `context.virtualObject.metadata.name === "${refused}" ? "10.9.0.1" : "10.0.0.9"`,
  });

it('a name goes to whoever may be published, judged after the patches as before', async () => {
  world = new PaperWorld({
    settings: { addressPolicy: { allow: [], deny: ['10.9.0.0/16'] } },
    patches: [rewrite('col-x-default')],
  });
  // Both are called col-x-default-x-default-x-vc on the host; the older one would win, and may not be published.
  putPair(world, 'col-x-default', '10.0.0.1', { namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' });
  putPair(world, 'col', '10.0.0.2', { namespace: 'default-x-default', creationTimestamp: '2026-01-02T00:00:00Z' });
  await world.run();
  const copy = world.host.get('endpoints', 'vcluster-vc', 'col-x-default-x-default-x-vc');
  expect(copy?.metadata.annotations?.['vcluster.loft.sh/object-name']).toBe('col');
});

it('and one whose address only a patch makes good has its chance', async () => {
  world = new PaperWorld({
    settings: { addressPolicy: { allow: [], deny: ['10.9.0.0/16'] } },
    patches: [rewrite('nobody')],
  });
  putPair(world, 'col-x-default', '10.9.0.1', { namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' });
  putPair(world, 'col', '10.0.0.2', { namespace: 'default-x-default', creationTimestamp: '2026-01-02T00:00:00Z' });
  await world.run();
  const copy = world.host.get('endpoints', 'vcluster-vc', 'col-x-default-x-default-x-vc');
  expect(copy?.metadata.annotations?.['vcluster.loft.sh/object-name']).toBe('col-x-default');
});

it('and a holder that its patches begin to refuse makes room', async () => {
  world = new PaperWorld({
    settings: { addressPolicy: { allow: [], deny: ['10.9.0.0/16'] } },
    patches: [
      entry({
        path: 'subsets[*].addresses[*].ip',
        expression: 'context.virtualObject.metadata.labels?.moved === "yes" ? "10.9.0.1" : value',
      }),
    ],
  });
  const older = { namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' };
  putPair(world, 'col-x-default', '10.0.0.1', older);
  putPair(world, 'col', '10.0.0.2', { namespace: 'default-x-default', creationTimestamp: '2026-01-02T00:00:00Z' });
  await world.run();
  const holder = () =>
    world.host.get('endpoints', 'vcluster-vc', 'col-x-default-x-default-x-vc')?.metadata.annotations?.[
      'vcluster.loft.sh/object-name'
    ];
  expect(holder()).toBe('col-x-default');
  await world.change(() => putPair(world, 'col-x-default', '10.0.0.1', { ...older, labels: { moved: 'yes' } }));
  expect(holder()).toBe('col');
  await world.change(() => putPair(world, 'col-x-default', '10.0.0.1', older));
  expect(holder()).toBe('col');
});
