import { expect, it } from 'vitest';
import type { Cluster } from '../../../bench/blackbox/cluster.ts';
import { Load, placesOf } from '../../../bench/blackbox/load.ts';
import { VirtualSide } from '../../../bench/blackbox/virtual-side.ts';

/** A cluster in which somebody has a namespace already, and which writes down what it is asked. */
function cluster(taken: readonly string[]) {
  const asked: { method: string; path: string; name?: string }[] = [];
  const send: Cluster['send'] = async ({ method, path, body }) => {
    const name = (body as { metadata?: { name?: string } } | undefined)?.metadata?.name;
    asked.push({ method, path, ...(name !== undefined && { name }) });
    const isTaken = path === '/api/v1/namespaces' && taken.includes(name ?? '');
    const status = isTaken ? 409 : method === 'POST' ? 201 : method === 'GET' ? 404 : 200;
    return { status, json: {}, text: '{}' } as Awaited<ReturnType<Cluster['send']>>;
  };
  const given = { send, expect: send, list: async () => ({ items: [], revision: '1' }), sentence: () => 'no' };
  return { asked, cluster: given as unknown as Cluster };
}

it.each(['endpoints', 'endpointslices'] as const)(
  'the black box writes %s in namespaces of its own alone, and leaves one that somebody else has made',
  async (kind) => {
    const places = placesOf('run', 1_500);
    const load = new Load({ kind, runNumber: 1, addresses: 3 });
    const { asked, cluster: given } = cluster(['hostward-bench-run-1']);
    const side = new VirtualSide(given, load);
    const names = [...new Set(places.map(({ namespace }) => namespace))];
    expect(names).toEqual(['hostward-bench-run-0', 'hostward-bench-run-1']);
    await expect(side.makeNamespaces(names)).rejects.toThrow(
      'another run has made the virtual namespace "hostward-bench-run-1"',
    );
    const own = places.slice(0, 5);
    const { signal } = new AbortController();
    await side.makeServices(own, signal);
    await side.makeObjects(own, signal);
    for (const place of own) await side.change(place, 1);
    expect(await side.clear()).toEqual([]);
    const writes = asked.filter(({ method }) => method !== 'GET');
    const made = writes.filter(({ path }) => path === '/api/v1/namespaces').map(({ name }) => name);
    expect(made).toEqual(names);
    const within = writes.filter(({ path }) => path !== '/api/v1/namespaces');
    expect(within.length).toBeGreaterThanOrEqual(3 * own.length + 3);
    expect(
      within.filter(
        ({ path }) => !/^\/api(s\/discovery\.k8s\.io)?\/v1\/namespaces\/hostward-bench-run-0(\/|$)/.test(path),
      ),
    ).toEqual([]);
  },
);
