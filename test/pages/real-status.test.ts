import { afterEach, expect, it } from 'vitest';
import { shortText } from '../../src/cli/running/short-text.ts';
import { statusMain } from '../../src/pages/status/status-page.ts';
import { attentionIn, attentionOf } from '../../src/sync/report/attention/attention.ts';
import { syncStatus } from '../../src/sync/report/status.ts';
import { edit, endpoints, FakeWorld, putPair } from '../sync/fake-sync.ts';
import { entry } from '../sync/patch/fake-patch.ts';
import { leavesOf, missingFields } from './fields.ts';

let world: FakeWorld;
afterEach(() => world.stop());

it('a sync in trouble tells nothing that the status page and the command do not show', async () => {
  world = new FakeWorld({
    patches: [entry({ path: 'metadata.labels.team', expression: 'value.nothing.here' })],
    settings: { addressPolicy: { allow: [], deny: ['10.9.0.0/16'] } },
  });
  putPair(world, 'fine');
  putPair(world, 'patched', '10.0.0.2', { labels: { team: 'a-long-value' } });
  putPair(world, 'denied', '10.9.0.1');
  putPair(world, 'foreign');
  world.host.put(
    'endpoints',
    endpoints('foreign-x-default-x-vc', '10.3.3.3', {
      namespace: 'vcluster-vc',
      labels: { a: 'b' },
      annotations: { 'vcluster.loft.sh/object-name': 'other' },
    }),
  );
  await world.run();
  for (let at = 0; at < 8; at++)
    await world.change(() =>
      edit(world.host, world.copy('fine'), (draft) => {
        draft['subsets'] = [{ addresses: [{ ip: `10.7.0.${at}` }] }];
      }),
    );
  const status = {
    verdict: { isWell: false, sentence: 'blocked' },
    ...syncStatus(world.sync),
    patches: world.patches?.counts.totals(),
  };
  const told = JSON.parse(JSON.stringify(status));
  const page = statusMain(told, [], { asOf: new Date() }).text;
  expect(missingFields(told, page)).toEqual([]);
  expect(leavesOf(told).length).toBeGreaterThan(30);
  const reasons = attentionOf(told).map(({ object, reason }) => `${object} ${reason}`);
  expect(reasons.sort()).toEqual([
    'default/denied AddressRefused',
    'default/fine Contested',
    'default/foreign NotOwned',
    'default/patched PatchFailed',
  ]);
});

it('a list of troubles that is cut has every reason, and its counts are complete', async () => {
  world = new FakeWorld({ settings: { addressPolicy: { allow: [], deny: ['10.9.0.0/16'] } } });
  for (let at = 0; at < 600; at++) putPair(world, `denied-${at}`, '10.9.0.1');
  await world.run();
  putPair(world, 'foreign');
  world.host.put(
    'endpoints',
    endpoints('foreign-x-default-x-vc', '10.3.3.3', {
      namespace: 'vcluster-vc',
      labels: { a: 'b' },
      annotations: { 'vcluster.loft.sh/object-name': 'other' },
    }),
  );
  await world.run();
  const status = JSON.parse(JSON.stringify(syncStatus(world.sync)));
  expect(status.troubleByState).toEqual({ 'refused/AddressRefused': 600, 'refused/NotOwned': 1 });
  expect(status.trouble.length).toBeLessThan(500);
  expect(attentionIn(status).groups.map(({ reason, count }) => `${count} ${reason}`)).toEqual([
    '600 AddressRefused',
    '1 NotOwned',
  ]);
});

it.each([
  ['that keeps objects off the host', {}],
  ['that objects go on without', { onError: 'skip' as const }],
])('no failing patch %s hides another one, however many objects it has', async (_, more) => {
  const failing = { expression: 'value.nothing.here', ...more };
  world = new FakeWorld({
    patches: ['team', 'zone'].map((name) => entry({ path: `metadata.labels.${name}`, ...failing })),
  });
  for (let at = 0; at < 600; at++) putPair(world, `a-${at}`, '10.0.0.2', { labels: { team: 't' } });
  putPair(world, 'other', '10.0.0.2', { labels: { zone: 'z' } });
  await world.run();
  const status = JSON.parse(JSON.stringify(syncStatus(world.sync)));
  expect(status.trouble.length).toBeLessThanOrEqual(500);
  const told = attentionIn(status).groups.map(({ reason, count, items, isLeast }) => [
    `${count} ${reason}`,
    /patches\[\d\]/.exec(items[0]?.remedy ?? '')?.[0],
    isLeast,
  ]);
  expect(told).toEqual([
    ['600 PatchFailed', 'patches[0]', undefined],
    ['1 PatchFailed', 'patches[1]', undefined],
  ]);
  expect(statusMain(status, [], { asOf: new Date(0) }).text).toContain('>601 things need a person<');
  for (const width of [80, 40]) {
    const short = shortText(status, width);
    expect(short).toContain('! 600 objects (PatchFailed), such as ');
    expect(short).toContain('! default/other (PatchFailed)');
  }
});
