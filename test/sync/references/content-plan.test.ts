import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ContentKind, changeOf, contentKinds, digestOf } from '../../../src/sync/kinds/content/content-kind.ts';
import { isImport, planContent } from '../../../src/sync/kinds/content/content-plan.ts';
import type { ContentFacts } from '../../../src/sync/kinds/content/content-step.ts';
import { judgeOwnership } from '../../../src/sync/plan/ownership.ts';
import { createPlacement } from '../../../src/sync/plan/placement.ts';
import { copyPlaceOf } from '../../../src/sync/references/reference-names.ts';
import { ReferenceRegistry } from '../../../src/sync/references/registry.ts';

const key = 'default/db';
const placement = createPlacement({ virtualCluster: 'vc', hostNamespace: 'hns' });
const copyPlace = copyPlaceOf(
  { kind: 'Secret', namespace: 'default', name: 'db' },
  { placement, naming: 'generated' },
) as {
  namespace: string;
  name: string;
};
const importPlace = { namespace: 'hns', name: 'db' };

const content = fc.record(
  {
    type: fc.constantFrom('Opaque', 'kubernetes.io/tls', 'kubernetes.io/service-account-token'),
    data: fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), fc.constantFrom('eA==', 'eQ==')),
  },
  { requiredKeys: ['type'] },
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const virtual = fc
  .record(
    {
      namespace: fc.constant('default'),
      name: fc.constant('db'),
      uid: fc.constant('v-uid'),
      resourceVersion: fc.constant('7'),
      labels: fc.constantFrom({ app: 'x' }, { 'hostward.dev/importable': 'true' }),
      importedFrom: fc.constantFrom('h-uid', 'other-uid'),
      isImmutable: fc.constant(true as const),
      content,
    },
    { requiredKeys: ['namespace', 'name', 'uid', 'resourceVersion', 'content'] },
  )
  .chain((one) => {
    const { content: held, ...rest } = one;
    const known = { ...rest, type: held.type, digest: digestOf(held) };
    return fc.constantFrom(known, { ...known, content: held });
  });
const six = {
  'vcluster.loft.sh/object-name': 'db',
  'vcluster.loft.sh/object-namespace': 'default',
  'vcluster.loft.sh/object-uid': 'v-uid',
  'vcluster.loft.sh/object-kind': '/v1, Kind=Secret',
  'vcluster.loft.sh/object-host-name': copyPlace.name,
  'vcluster.loft.sh/object-host-namespace': 'hns',
};
const copy = fc.record(
  {
    namespace: fc.constant('hns'),
    name: fc.constant(copyPlace.name),
    uid: fc.constant('c-uid'),
    resourceVersion: fc.constant('9'),
    labels: fc.constantFrom({ 'vcluster.loft.sh/managed-by': 'vc' }, { 'vcluster.loft.sh/managed-by': 'other' }, {}),
    annotations: fc
      .subarray(Object.entries(six))
      .chain((some) => fc.constantFrom(six, Object.fromEntries(some), { ...six, 'vcluster.loft.sh/object-name': 'x' })),
    isImmutable: fc.constant(true as const),
    content,
  },
  { requiredKeys: ['namespace', 'name', 'uid', 'resourceVersion', 'content'] },
);
const importable = fc.record({
  ...{ namespace: fc.constant('hns'), name: fc.constant('db'), resourceVersion: fc.constant('3') },
  ...{ uid: fc.constantFrom('h-uid', 'new-uid'), labels: fc.constant({ 'hostward.dev/importable': 'true' }), content },
});
const owner = fc.constantFrom(
  { kind: 'none' as const },
  { kind: 'missing' as const, message: 'no owner' },
  { kind: 'present' as const, name: 'vc', uid: 'o-uid' },
);

const facts = fc.record({
  key: fc.constant(key),
  kind: fc.constant(contentKinds[0] as ContentKind),
  placement: fc.constant(placement),
  labels: fc.constant({
    toHost: (one: string) => (one.startsWith('hostward.dev/') ? undefined : one),
    toVirtual: () => undefined,
    flowsBack: () => false,
  }),
  virtual: maybe(virtual),
  copyPlace: fc.constant(copyPlace),
  copy: maybe(copy),
  strays: fc.constant([]),
  importPlace: fc.constant(importPlace),
  importable: maybe(importable.filter(({ content: { type } }) => !type.includes('token'))),
  lost: fc.constantFrom('unknown' as const, 'there' as const, 'gone' as const, 'unlabelled' as const),
  isReferenced: fc.boolean(),
  mayRemove: fc.boolean(),
  isExported: fc.boolean(),
  owner,
}) as unknown as fc.Arbitrary<ContentFacts>;

function check(claim: (given: ContentFacts, request: Exclude<ReturnType<typeof requestOf>, undefined>) => void): void {
  fc.assert(
    fc.property(facts, (given) => {
      const request = requestOf(given);
      if (request !== undefined) claim(given, request);
    }),
    { numRuns: 3000 },
  );
}
function requestOf(given: ContentFacts) {
  const step = planContent(given);
  return step.kind === 'request' ? step.request : undefined;
}

describe('planContent()', () => {
  it('writes only our copies on the host, removes only copies with all marks, and always with preconditions', () => {
    check((given, request) => {
      if (request.side !== 'host' || request.verb === 'get') return;
      expect(request.place).toEqual(copyPlace);
      if (request.verb === 'create') return expect(given.copy).toBeUndefined();
      const ownership = judgeOwnership(given.copy as NonNullable<typeof given.copy>, key, placement);
      expect(ownership.kind).toBe('ours');
      if (request.verb === 'remove') {
        expect(ownership).toMatchObject({ isDeletable: true });
        expect(request.preconditions).toEqual({ uid: 'c-uid', resourceVersion: '9' });
      } else expect(request.mergePatch).toMatchObject({ metadata: { uid: 'c-uid', resourceVersion: '9' } });
    });
  });

  it('writes in the virtual cluster only imports that the host allows now, or has taken back by its label', () => {
    check((given, request) => {
      if (request.side !== 'virtual' || request.verb === 'get') return;
      if (request.verb === 'create') return expect([given.virtual, given.isReferenced]).toEqual([undefined, true]);
      const isTakenBack = given.importable === undefined && given.lost === 'unlabelled' && given.virtual?.importedFrom;
      expect(isImport(given.virtual, given.importable) || Boolean(isTakenBack)).toBe(true);
      if (request.verb === 'remove') expect(request.preconditions).toEqual({ uid: 'v-uid', resourceVersion: '7' });
    });
  });

  it('reads the tenant’s object only when its content is needed and unknown, and goes on after the read', () => {
    check((given, request) => {
      if (request.verb !== 'get' || request.side !== 'virtual') return;
      expect([given.virtual?.content, given.isReferenced]).toEqual([undefined, true]);
      const read = {
        ...given,
        virtual: { ...given.virtual, content: { type: given.virtual?.type, data: { z: 'eg==' } } },
      };
      const next = requestOf(read as ContentFacts);
      expect(next?.side === 'virtual' && next.verb === 'get').toBe(false);
    });
  });

  it('removes nothing as unreferenced before all references are counted', () => {
    check((given, request) => {
      if (request.verb !== 'remove' || given.mayRemove) return;
      // To make it again, or because the host has taken its permission back.
      const isReplaced =
        request.side === 'host'
          ? given.virtual !== undefined &&
            given.copy !== undefined &&
            changeOf(given.virtual, given.copy).kind === 'replace'
          : given.isReferenced || given.importable === undefined;
      expect(isReplaced).toBe(true);
    });
  });

  it('exports no object that is switched off, unreferenced, imported, or the token of a service account', () => {
    check((given, request) => {
      if (request.side !== 'host' || (request.verb !== 'create' && request.verb !== 'patch')) return;
      expect([given.isExported, given.isReferenced, isImport(given.virtual, given.importable)]).toEqual([
        true,
        true,
        false,
      ]);
      expect(given.virtual?.type).not.toMatch(/token/);
      if (request.verb === 'create') expect(request.object).toMatchObject(given.virtual?.content as object);
      const text = JSON.stringify(request);
      expect(text).not.toContain('importable');
      expect(text).not.toContain('immutable');
      if (request.verb === 'create') expect(given.owner.kind).not.toBe('missing');
    });
  });

  it('reads the host once about an import that has lost its object, and acts on the answer', () => {
    check((given, request) => {
      if (request.verb !== 'get' || request.side !== 'host') return;
      expect([given.virtual?.importedFrom !== undefined, given.importable, given.lost]).toEqual([
        true,
        undefined,
        'unknown',
      ]);
      const next = requestOf({ ...given, lost: 'gone' });
      expect(next?.side === 'host' && next.verb === 'get').toBe(false);
    });
  });
});

describe('ReferenceRegistry', () => {
  const toDb = { kind: 'Secret', namespace: 'default', name: 'db', standing: 'exported' as const };
  const of = (key: string, kind = 'Endpoints') => ({ kind, key });
  const make = () => {
    const heard: string[] = [];
    const registry = new ReferenceRegistry({
      changed: ({ name }) => heard.push(name),
      completed: () => heard.push('complete'),
    });
    return { registry, heard };
  };

  it('is incomplete until every object has been counted, and again after each recount', () => {
    const { registry, heard } = make();
    expect(registry.isComplete).toBe(false);
    registry.recount('Endpoints', ['a', 'b']);
    registry.note(of('a'), [toDb]);
    expect([registry.isComplete, registry.isReferenced(toDb)]).toEqual([false, true]);
    registry.note(of('b'), []);
    expect([registry.isComplete, heard]).toEqual([true, ['db', 'complete']]);
    registry.recount('Endpoints', []);
    expect([registry.isComplete, registry.isReferenced(toDb)]).toEqual([false, true]);
    registry.note(of('a'), []);
    expect([registry.isComplete, registry.isReferenced(toDb)]).toEqual([true, false]);
  });

  it('asks for a pass of an object that failed before any reference was known, because it may have gone since', () => {
    const { registry } = make();
    registry.recount('Endpoints', ['a']);
    registry.noteFailed(of('a'), []);
    expect([registry.recount('Endpoints', []), registry.isComplete]).toEqual([['a'], false]);
    registry.note(of('a'), []);
    expect([[...registry.unsure()], registry.isComplete]).toEqual([[], true]);
  });

  it('is incomplete for a changed object until its next pass, failed or not', () => {
    const { registry, heard } = make();
    registry.recount('Endpoints', ['a']);
    registry.note(of('a'), [toDb]);
    registry.expect(of('a'));
    registry.expect(of('b'));
    expect([registry.isComplete, registry.isReferenced(toDb)]).toEqual([false, true]);
    registry.note(of('a'), []);
    expect([registry.isComplete, registry.isReferenced(toDb)]).toEqual([false, false]);
    registry.noteFailed(of('b'), []);
    expect([registry.isComplete, heard]).toEqual([true, ['db', 'complete', 'db', 'complete']]);
  });

  it('is incomplete while referring objects are still being named, even if all named so far are counted', () => {
    const { registry, heard } = make();
    registry.hold('Endpoints');
    registry.recount('Endpoints', ['a']);
    registry.note(of('a'), [toDb]);
    registry.expect(of('gone'));
    expect([registry.isComplete, heard]).toEqual([false, ['db']]);
    registry.release('Endpoints');
    expect(registry.isComplete).toBe(false);
    registry.note(of('gone'), []);
    expect([registry.isComplete, heard]).toEqual([true, ['db', 'complete']]);
  });

  it('keeps all known references of an object whose pass failed', () => {
    const { registry } = make();
    registry.recount('Endpoints', ['a']);
    registry.note(of('a'), [toDb]);
    registry.noteFailed(of('a'), [{ ...toDb, name: 'new' }]);
    expect([...registry.keysOf('Secret')].sort()).toEqual(['default/db', 'default/new']);
    expect([...registry.unsure()]).toEqual([of('a')]);
    registry.note(of('a'), []);
    expect([[...registry.keysOf('Secret')], [...registry.unsure()]]).toEqual([[], []]);
  });

  it('joins the counts of several kinds: one reference keeps an object, and every kind must be counted', () => {
    const { registry, heard } = make();
    registry.recount('Endpoints', ['a']);
    registry.note(of('a'), [toDb]);
    registry.recount('EndpointSlice', ['a']);
    expect(registry.isComplete).toBe(false);
    registry.note(of('a', 'EndpointSlice'), [toDb]);
    expect(registry.referrersOf(toDb)).toEqual([of('a'), of('a', 'EndpointSlice')]);
    registry.note(of('a'), []);
    expect([registry.isComplete, registry.isReferenced(toDb)]).toEqual([true, true]);
    expect(registry.recount('EndpointSlice', [])).toEqual(['a']);
    registry.note(of('a', 'EndpointSlice'), []);
    expect([registry.isComplete, registry.isReferenced(toDb), heard.at(-1)]).toEqual([true, false, 'complete']);
  });

  it('is incomplete while a kind whose patches name content has not begun to count', () => {
    const { registry, heard } = make();
    registry.expectKinds(new Set(['Endpoints', 'EndpointSlice']));
    registry.recount('Endpoints', []);
    expect([registry.isComplete, registry.absentKinds]).toEqual([false, ['EndpointSlice']]);
    registry.expectKinds(new Set(['Endpoints']));
    expect([registry.isComplete, heard]).toEqual([true, ['complete']]);
  });
});
