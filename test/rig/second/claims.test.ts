// Who gets a name of the host that several objects want, written once more from DESIGN 2 and 3.13 by somebody who has read neither `src/sync/plan` nor
// `model/claims.ts` with it in mind. Every mixture of a few claimants, standing copies and answers of a daemon is tried: the model must say the same.

import { describe, expect, it } from 'vitest';
import { expectationOf } from '../model/model.ts';
import type { PlainObject } from '../model/words/types.ts';

interface Claimant {
  readonly namespace: string;
  readonly name: string;
  readonly service: 'plain' | 'selector' | 'none';
  /** In seconds. */
  readonly age: number;
  readonly ip: string;
}

/** All of them are called this in the namespace of the virtual cluster on the host. */
const hostName = 'a-x-b-x-c-x-t1-x-vc';
const names = [
  { namespace: 't1', name: 'a-x-b-x-c' },
  { namespace: 'c-x-t1', name: 'a-x-b' },
  { namespace: 'b-x-c-x-t1', name: 'a' },
] as const;

/** DESIGN 2: eligible. */
const isEligible = ({ service, ip }: Claimant): boolean => service === 'plain' && !ip.startsWith('127.');

/** DESIGN 3.13: an eligible incumbent, else the oldest, else the smallest key. */
function holder(all: readonly Claimant[], incumbent: Claimant | undefined): Claimant | undefined {
  if (incumbent !== undefined && isEligible(incumbent)) return incumbent;
  const key = ({ namespace, name }: Claimant): string => `${namespace}/${name}`;
  let best: Claimant | undefined;
  for (const one of all.filter(isEligible))
    if (best === undefined || one.age > best.age || (one.age === best.age && key(one) < key(best))) best = one;
  return best;
}

const meta = (namespace: string, name: string, more: object = {}): PlainObject['metadata'] => ({
  ...{ namespace, name, uid: `uid-of-${namespace}-${name}`, resourceVersion: '7' },
  creationTimestamp: '2026-01-01T00:00:00Z',
  ...more,
});
const payload = (ip: string) => ({ subsets: [{ addresses: [{ ip }], ports: [{ port: 80, protocol: 'TCP' }] }] });

function objectsOf({ namespace, name, service, age, ip }: Claimant): PlainObject[] {
  const creationTimestamp = new Date(Date.UTC(2026, 0, 1) - age * 1000).toISOString().replace('.000', '');
  const object = {
    ...{ apiVersion: 'v1', kind: 'Endpoints', metadata: meta(namespace, name, { creationTimestamp }) },
    ...payload(ip),
  } as PlainObject;
  if (service === 'none') return [object];
  const spec = service === 'selector' ? { selector: { app: 'x' } } : {};
  return [object, { apiVersion: 'v1', kind: 'Service', metadata: meta(namespace, name), spec }];
}

function copyOf({ namespace, name, ip }: Claimant, virtualCluster = 'vc'): PlainObject {
  const six = { name, namespace, uid: `uid-of-${namespace}-${name}`, kind: '/v1, Kind=Endpoints' };
  const annotations = Object.fromEntries(
    Object.entries({ ...six, 'host-name': hostName, 'host-namespace': 'vcluster-vc' }).map(([part, value]) => [
      `vcluster.loft.sh/object-${part}`,
      value,
    ]),
  );
  const labels = { 'vcluster.loft.sh/managed-by': virtualCluster, 'vcluster.loft.sh/namespace': namespace };
  return {
    ...{ apiVersion: 'v1', kind: 'Endpoints' },
    metadata: meta('vcluster-vc', hostName, { annotations, labels, uid: 'uid-of-a-copy' }),
    ...payload(ip),
  };
}

/** Three claimants, each with one of three Services, one of two ages, or an address that is refused. */
function* mixtures(): Generator<readonly Claimant[]> {
  const one = (['plain', 'selector', 'none'] as const).flatMap((service) =>
    [1, 2].map((age) => ({ service, age, ip: '10.0.0.1' })),
  );
  one.push({ service: 'plain', age: 3, ip: '127.0.0.1' });
  for (const a of one)
    for (const b of one)
      for (const c of one) yield [a, b, c].map((rest, at) => ({ ...(names[at] as (typeof names)[number]), ...rest }));
}

/** The object that the model expects at the name; undefined: none. */
function said(all: readonly Claimant[], before: PlainObject | undefined, now: PlainObject | undefined) {
  const virtual = all.flatMap(objectsOf);
  const point = {
    ...{ virtualCluster: 'vc', hostNamespace: 'vcluster-vc', deeds: [], hasSeenAll: true },
    configurations: [{ configuration: { experimental: { syncSettings: { setOwner: false } } }, sinceMs: 0 }] as const,
    before: { virtual, host: before === undefined ? [] : [before] },
    now: { virtual, host: now === undefined ? [] : [now] },
  };
  const found = expectationOf(point).objects.filter(
    ({ side, object }) => side === 'host' && object.kind === 'Endpoints',
  );
  expect(found.length).toBeLessThanOrEqual(1);
  const annotations = found[0]?.object.metadata['annotations'] as Record<string, string> | undefined;
  return (
    annotations && `${annotations['vcluster.loft.sh/object-namespace']}/${annotations['vcluster.loft.sh/object-name']}`
  );
}

const keyOf = (one: Claimant | undefined): string | undefined => one && `${one.namespace}/${one.name}`;

describe('the model and a second writing of who gets a contested name', () => {
  it('agree where the place was free, whatever a daemon has put there', () => {
    let nth = 0;
    for (const all of mixtures()) {
      const right = holder(all, undefined);
      const wrong = all[nth++ % all.length] as Claimant;
      expect([all, said(all, undefined, right && copyOf(right))]).toEqual([all, keyOf(right)]);
      expect([all, said(all, undefined, copyOf(wrong))]).toEqual([all, keyOf(right)]);
    }
    expect(nth).toBe(343);
  });

  it('agree where a copy of one of them stood, which may have lost its right', () => {
    let nth = 0;
    for (const all of mixtures()) {
      const incumbent = all[nth++ % all.length] as Claimant;
      const wrong = all[nth % all.length] as Claimant;
      const right = holder(all, incumbent);
      expect([all, said(all, copyOf(incumbent), right && copyOf(right))]).toEqual([all, keyOf(right)]);
      expect([all, said(all, copyOf(incumbent), copyOf(wrong))]).toEqual([all, keyOf(right)]);
    }
  });

  it('agree that the copy of another virtual cluster stays', () => {
    for (const all of [...mixtures()].slice(0, 50)) {
      const foreign = { ...copyOf(all[0] as Claimant, 'other') };
      const { 'vcluster.loft.sh/object-uid': _, ...five } = foreign.metadata.annotations ?? {};
      const strange = { ...foreign, metadata: { ...foreign.metadata, annotations: five } } as PlainObject;
      expect(said(all, strange, strange)).toBe(keyOf(all[0]));
    }
  });
});
