// An open stream ends when the configuration takes away the place that it leads to, or the right to be there.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ManagementSettings } from '../../../src/config/settings/management-settings.ts';
import type { Stream } from '../server/bench.ts';
import { until } from '../server/bench.ts';
import { type Behind, openBehind, people, placesAt } from './upstream.ts';

const pods = 'api/v1/namespaces/shop-s1/pods?watch=true';
const paths = {
  cluster: `/kubernetes/cluster/c1/${pods}`,
  space: `/kubernetes/project/shop/space/s1/${pods}`,
  virtualCluster: `/kubernetes/project/shop/virtualcluster/v1/${pods}`,
};
type Place = keyof typeof paths;

let behind: Behind;
const streams = new Map<Place, { stream: Stream; isEnded: boolean }>();

beforeEach(async () => {
  behind = await openBehind();
  behind.answerWith((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"type":"ADDED","object":{}}\n');
  });
  const key = await behind.bench.keyFor('watcher', { user: 'alice' });
  for (const place of Object.keys(paths) as Place[]) {
    const watch = { stream: await behind.bench.follow(paths[place], key), isEnded: false };
    void watch.stream.ended.then(() => {
      watch.isEnded = true;
    });
    streams.set(place, watch);
    await until(() => watch.stream.events.length > 0, `the first event of ${place}`);
  }
});
afterEach(async () => {
  for (const { stream } of streams.values()) stream.stop();
  streams.clear();
  await behind.stop();
});

/** The settings with one place changed. */
function changed(change: (settings: ManagementSettings) => void): ManagementSettings {
  const settings = structuredClone({ ...people, ...placesAt(behind.kubeconfigPath) });
  change(settings);
  return settings;
}

const changes: [string, Place[], (settings: ManagementSettings) => void][] = [
  ['the space is gone', ['space'], ({ projects: [shop] }) => void Object.assign(shop ?? {}, { spaces: [] })],
  [
    'the space is another namespace',
    ['space'],
    ({ projects: [shop] }) => void Object.assign(shop?.spaces[0] ?? {}, { namespace: 'other' }),
  ],
  [
    'the space is in another cluster',
    ['space'],
    ({ projects: [shop] }) => void Object.assign(shop?.spaces[0] ?? {}, { cluster: 'hidden' }),
  ],
  [
    'the virtual cluster is gone',
    ['virtualCluster'],
    ({ projects: [shop] }) => void Object.assign(shop ?? {}, { virtualClusters: [] }),
  ],
  [
    'the virtual cluster has another kubeconfig',
    ['virtualCluster'],
    ({ projects: [shop] }) => void Object.assign(shop?.virtualClusters[0] ?? {}, { kubeconfig: '/elsewhere' }),
  ],
  [
    'the caller is no member of the cluster any more',
    ['cluster'],
    ({ clusters: [c1] }) => void Object.assign(c1 ?? {}, { members: [] }),
  ],
  [
    'the cluster has another kubeconfig',
    ['cluster', 'space'],
    ({ clusters: [c1] }) => void Object.assign(c1 ?? {}, { kubeconfig: '/elsewhere' }),
  ],
  [
    'nothing about it has changed',
    [],
    (settings) => void Object.assign(settings, { teams: [...settings.teams, { name: 'blue', users: [], groups: [] }] }),
  ],
];

describe('an open watch through the proxy', () => {
  it.each(changes)('when %s: ends at %j and nowhere else', async (_what, wanted, change) => {
    await behind.bench.api.apply(changed(change));
    const ended = () => [...streams].filter(([, { isEnded }]) => isEnded).map(([place]) => place);
    await until(() => ended().length >= wanted.length, 'the end');
    expect(ended().sort()).toEqual([...wanted].sort());
    expect(behind.bench.api.status()).toMatchObject({ proxied: 3 - wanted.length });
  });
});
