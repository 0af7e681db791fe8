import fc from 'fast-check';
import { expect, it } from 'vitest';
import { referenceKinds } from '../../../src/config/settings/table/patch-rules.ts';
import { type Key, keyOf } from '../../../src/object/meta/object.ts';
import { createPlacement } from '../../../src/sync/plan/placement.ts';
import {
  copyPlaceOf,
  type KnownObjects,
  type Naming,
  ReferenceNames,
  type ReferenceStanding,
} from '../../../src/sync/references/reference-names.ts';

// With "x" and "-" alone most names and namespaces can be split in more than one way.
const word = fc
  .array(fc.constantFrom('x', 'a', '-x-', 'b', 'long-enough-for-a-hash'), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join(''))
  .filter((text) => /^[a-z]([-a-z]*[a-z])?$/.test(text));
const place = fc.record({ namespace: word, name: word });
const naming = fc.constantFrom<Naming>('generated', 'vcluster');
const kind = fc.constantFrom(...referenceKinds);
const placement = fc.constantFrom(
  createPlacement({ virtualCluster: 'vc', hostNamespace: 'hns' }),
  createPlacement({
    virtualCluster: 'vc',
    hostNamespace: 'hns',
    mapping: {
      hostNamespaceOf: (one) => (one.startsWith('a') ? `host-${one}` : undefined),
      virtualNamespaceOf: (one) => /^host-(a.*)/.exec(one)?.[1],
      mappingsOnly: false,
    },
  }),
);

class Objects implements KnownObjects {
  readonly all = new Set<Key>();
  readonly areAll = true;

  has({ namespace, name }: { namespace: string; name: string }): boolean {
    return this.all.has(keyOf(namespace, name));
  }

  keys(): Iterable<Key> {
    return this.all;
  }
}

it('a host name comes back as the object that it was made from, whatever else exists and whoever looks', () => {
  fc.assert(
    fc.property(
      place,
      fc.array(place, { maxLength: 5 }),
      fc.record({ kind, written: naming, read: naming, placement, mayBeElsewhere: fc.boolean() }),
      (virtual, others, how) => {
        const known = new Objects();
        const names = new ReferenceNames({ naming: () => how.read, known });
        const host = names.toHost({ kind: how.kind, ...virtual }, how.placement, how.written)?.place;
        if (host === undefined) throw new Error('no place on the host');
        const { namespace } = virtual;
        const back = () =>
          names.toVirtual({ kind: how.kind, host, namespace, mayBeElsewhere: how.mayBeElsewhere }, how.placement);
        for (const one of others) known.all.add(keyOf(one.namespace, one.name));
        known.all.add(keyOf(namespace, virtual.name));
        const twins = [...known.all].filter((key) => {
          const [other = '', name = ''] = key.split('/');
          const at = names.toHost({ kind: how.kind, namespace: other, name }, how.placement, how.written)?.place;
          return at?.name === host.name && at.namespace === host.namespace;
        });
        const isAmbiguous = how.mayBeElsewhere && twins.length > 1;
        expect(back()).toEqual(isAmbiguous ? { kind: 'lost', isEarly: false } : { kind: 'known', place: virtual });
        // An object that has gone is not remembered.
        known.all.clear();
        const after = back();
        known.all.add('elsewhere/at-all');
        expect(back()).toEqual(after);
        expect(
          new ReferenceNames({ naming: () => how.read, known }).toVirtual(
            { kind: how.kind, host, namespace, mayBeElsewhere: how.mayBeElsewhere },
            how.placement,
          ),
        ).toEqual(after);
      },
    ),
    { numRuns: 2000 },
  );
});

const single = createPlacement({ virtualCluster: 'vc', hostNamespace: 'hns' });
const secret = { kind: 'Secret', namespace: 'default', name: 'db-with-a-name-that-no-long-name-has-room-for-at-all' };
const onHost = (name: string) => ({
  kind: 'Secret',
  host: { namespace: 'hns', name },
  namespace: 'default',
  mayBeElsewhere: false,
});

it('a command without clusters knows what it has translated, but not what was the host’s own then', () => {
  for (const first of ['named', 'imported'] as const) {
    let standing: ReferenceStanding = first;
    const names = new ReferenceNames({ naming: () => 'generated', standingOf: () => standing });
    names.toHost(secret, single);
    standing = 'named';
    const host = copyPlaceOf(secret, { placement: single, naming: 'generated' })?.name ?? '';
    expect(names.toVirtual(onHost(host), single).kind).toBe(first === 'named' ? 'known' : 'lost');
  }
});

it('a long name that only one virtual name explains is known, also where no object of that name exists any more', () => {
  const names = new ReferenceNames({ naming: () => 'vcluster', known: new Objects() });
  expect(names.toVirtual(onHost('db-x-default-x-vc'), single)).toEqual({
    kind: 'known',
    place: { namespace: 'default', name: 'db' },
  });
});
