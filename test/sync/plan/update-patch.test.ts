import { describe, expect, it } from 'vitest';
import { maxAnnotationBytes } from '../../../src/object/meta/meta-validation.ts';
import { baseOf } from '../../../src/sync/plan/draft.ts';
import { formatBase } from '../../../src/sync/plan/keys/base.ts';
import {
  baseKey,
  leaderKey,
  managedAnnotationsKey,
  markerLabel,
  namespaceLabel,
  objectKeys,
} from '../../../src/sync/plan/keys/reserved-keys.ts';
import type { HostItem, VirtualItem } from '../../../src/sync/plan/kind.ts';
import { planUpdate, type UpdateInput } from '../../../src/sync/plan/update-patch.ts';
import {
  asAddress,
  asAnnotation,
  asLabel,
  type Change,
  copyWith,
  draftOf,
  translation,
  virtualWith,
} from '../facts.ts';

const owner = { apiVersion: 'v1', kind: 'Service', name: 'vc', uid: 'owner-1', controller: false };
const all =
  (...changes: Change[]): Change =>
  (object) => {
    for (const change of changes) change(object);
  };
const withoutBase = asAnnotation(baseKey, undefined);
const uid =
  (value: string): Change =>
  ({ metadata }) => {
    metadata.uid = value;
  };

function bytesIn({ annotations = {} }: HostItem): number {
  return Object.entries(annotations).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
}

function plan(virtual: VirtualItem, host: HostItem, over: Partial<UpdateInput> = {}) {
  const draft = draftOf(virtual);
  const update = planUpdate({
    virtual,
    host,
    draft,
    translation,
    owner,
    isTakeOver: false,
    ignoreOrder: false,
    ...over,
  });
  const back = update.virtual && {
    ...Object.fromEntries(update.virtual.labels),
    ...Object.fromEntries(update.virtual.annotations),
  };
  return { update, back, touches: update.touches.filter((touch) => touch !== `annotation ${baseKey}`) };
}

interface Row {
  rule: string;
  virtual?: Change;
  host?: Change;
  over?: Partial<UpdateInput>;
  /** The fields and keys in the host patch, except the base. */
  touches?: string[];
  /** The keys in the virtual patch. */
  back?: object;
}

const rows: Row[] = [
  {
    rule: '5: a new uid renders the copy as on create',
    virtual: uid('v-2'),
    host: asLabel('edited', 'h'),
    touches: ['label edited', `annotation ${objectKeys.uid}`],
  },
  {
    rule: '5: a new uid keeps keys that never flow back',
    virtual: uid('v-2'),
    host: asAnnotation(leaderKey, 'h'),
    touches: [`annotation ${objectKeys.uid}`],
  },
  {
    rule: '5: a new uid writes anew which annotations are the tenant’s',
    virtual: all(uid('v-2'), asAnnotation('other', 'o')),
    touches: ['annotation other', `annotation ${objectKeys.uid}`, `annotation ${managedAnnotationsKey}`],
  },
  {
    rule: '6: a lost marker label is repaired',
    host: asLabel(markerLabel, undefined),
    touches: [`label ${markerLabel}`],
  },
  {
    rule: '6: a wrong namespace label is repaired',
    host: asLabel(namespaceLabel, 'x'),
    touches: [`label ${namespaceLabel}`],
  },
  {
    rule: '6: one of the six is repaired',
    host: asAnnotation(objectKeys.kind, undefined),
    touches: [`annotation ${objectKeys.kind}`],
  },
  { rule: '6: managed-annotations is not repaired', host: asAnnotation(managedAnnotationsKey, undefined) },
  {
    rule: '6: the owner is repaired',
    host: ({ metadata }) => delete metadata.ownerReferences,
    touches: ['ownerReferences'],
  },
  {
    rule: '6: without an owner no reference is written',
    host: ({ metadata }) => delete metadata.ownerReferences,
    over: { owner: undefined },
  },
  { rule: '7: an address edited on the host is overwritten', host: asAddress('10.0.0.9'), touches: ['subsets'] },
  { rule: '7: an address of the tenant is written to the host', virtual: asAddress('10.0.0.9'), touches: ['subsets'] },
  { rule: '8: a label of the tenant is written to the host', virtual: asLabel('team', 'b'), touches: ['label team'] },
  {
    rule: '8: a label that the tenant removed is removed on the host',
    virtual: asLabel('team', undefined),
    touches: ['label team'],
  },
  { rule: '8: a label edited on the host flows back', host: asLabel('team', 'b'), back: { team: 'b' } },
  {
    rule: '8: a label removed on the host is removed from the virtual object',
    host: asLabel('team', undefined),
    back: { team: null },
  },
  { rule: '8: an annotation of the host flows back', host: asAnnotation('mine', 'h'), back: { mine: 'h' } },
  {
    rule: '8: the tenant’s edit wins over an edit of the same key on the host',
    virtual: asLabel('team', 'b'),
    host: asLabel('team', 'c'),
    touches: ['label team'],
  },
  {
    rule: '8: without a base the tenant’s value wins',
    host: all(withoutBase, asLabel('team', 'b')),
    touches: ['label team'],
  },
  {
    rule: '8: without a base a key of the host stays there and does not flow back',
    host: all(withoutBase, asLabel('mine', 'h')),
  },
  {
    rule: '8: without a base a copied annotation that the tenant lacks is removed',
    virtual: asAnnotation('note', undefined),
    host: withoutBase,
    touches: ['annotation note'],
  },
  { rule: '8: the leader annotation never flows back', host: asAnnotation(leaderKey, 'h') },
  {
    rule: '8: a held back-flow does not delay the tenant’s change',
    virtual: asAddress('10.0.0.9'),
    host: asLabel('team', 'b'),
    over: { holdsBack: true },
    touches: ['subsets'],
  },
  { rule: '9: unknown reserved keys of the host are left alone', host: asAnnotation('hostward.dev/other', 'h') },
  { rule: '10: nothing differs', touches: [] },
  { rule: '10: only the base is missing', host: withoutBase },
  {
    rule: '10: another order on a host that reorders payloads',
    virtual: asAddress('10.0.0.1', '10.0.0.2'),
    host: asAddress('10.0.0.2', '10.0.0.1'),
    over: { ignoreOrder: true },
  },
  {
    rule: '10: another order on any other host',
    virtual: asAddress('10.0.0.1', '10.0.0.2'),
    host: asAddress('10.0.0.2', '10.0.0.1'),
    touches: ['subsets'],
  },
];

describe('the plan of an update, by the rules of sync', () => {
  it.each(rows)('$rule', ({ virtual, host, over, touches = [], back }) => {
    const planned = plan(virtualWith(virtual), copyWith(host), over);
    expect(planned.touches.sort()).toEqual([...touches].sort());
    expect(planned.back).toEqual(back);
  });

  it('counts keys that both sides changed to different values', () => {
    const both = (host: string) =>
      plan(virtualWith(asLabel('team', 'b')), copyWith(asLabel('team', host))).update.conflicts;
    expect([both('c'), both('b'), both('a')]).toEqual([1, 0, 0]);
  });

  it('the base is added to a write, and causes no write by itself', () => {
    const moved = plan(virtualWith(asAddress('10.0.0.9')), copyWith(withoutBase)).update.host;
    expect(moved?.annotations.get(baseKey)).toEqual(expect.any(String));
    expect(plan(virtualWith(), copyWith(withoutBase)).update.host).toBeUndefined();
  });

  it('a base that has no room any more leaves the host, because the old one would be wrong', () => {
    const fill = (bytes: number): Change => asAnnotation('large', 'x'.repeat(bytes));
    const room = maxAnnotationBytes - bytesIn(copyWith(fill(0), virtualWith(fill(0))));
    const more = all(...Array.from({ length: 20 }, (_, at) => asLabel(`label-${at}`, 'x')));
    const baseAfter = (bytes: number) => {
      const copied = copyWith(fill(bytes), virtualWith(fill(bytes)));
      return plan(virtualWith(all(fill(bytes), more)), copied).update.host?.annotations.get(baseKey);
    };
    expect(baseAfter(room - 1_000)).toEqual(expect.any(String));
    expect(baseAfter(room - 100)).toBeNull();
  });

  it('another patch set causes no write, unless another patch touches a key', () => {
    const other = { translation: { ...translation, patchDigest: 'other' } };
    expect(plan(virtualWith(), copyWith(), other).update.host).toBeUndefined();
    const draft = { ...draftOf(virtualWith()), patchesOf: () => 'AAAAAAAA' };
    const { update } = plan(virtualWith(), copyWith(), { ...other, draft });
    expect([...(update.host?.annotations.keys() ?? [])]).toEqual([baseKey]);
  });

  it('a new uid takes along what never flows back and the tenant had given, and leaves what the host has of it', () => {
    const headless = asLabel('service.kubernetes.io/headless', '');
    const applied = asAnnotation('kubectl.kubernetes.io/last-applied-configuration', '{}');
    const given = all(headless, applied, asAnnotation('endpoints.kubernetes.io/x', '1'));
    const theirs = all(asLabel('endpointslice.kubernetes.io/h', 'h'), asAnnotation('endpoints.kubernetes.io/h', 'h'));
    const takenFrom = (change: Change) => {
      const { touches } = plan(virtualWith(uid('v-2')), copyWith(all(theirs, change), virtualWith(given)));
      return touches.filter((touch) => /kubernetes\.io/.test(touch)).sort();
    };
    const annotations = [
      'annotation endpoints.kubernetes.io/x',
      'annotation kubectl.kubernetes.io/last-applied-configuration',
    ];
    expect(takenFrom(() => {})).toEqual([...annotations, 'label service.kubernetes.io/headless']);
    // Only the list of vCluster tells then, which names annotations.
    expect(takenFrom(withoutBase)).toEqual(annotations);
  });

  it('a new uid takes along what never flows back and patches had made', () => {
    const made = 'endpoints.kubernetes.io/made';
    const draft = draftOf(virtualWith());
    const patched = { ...draft, annotations: new Map([...draft.annotations, [made, 'p']]) };
    const former = baseOf(virtualWith(), patched, translation);
    const host = copyWith(all(asAnnotation(made, 'p'), asAnnotation(baseKey, formatBase(former))));
    expect(plan(virtualWith(uid('v-2')), host).touches).toContain(`annotation ${made}`);
  });

  it('a take-over writes the marks and the tenant’s keys, and keeps all other keys', () => {
    const native = copyWith(({ metadata }) => {
      metadata.labels = { theirs: 'h' };
      metadata.annotations = {};
    });
    const { update } = plan(virtualWith(), native, { isTakeOver: true });
    expect(Object.fromEntries(update.host?.labels ?? [])).toEqual({
      team: 'a',
      [markerLabel]: 'vc',
      [namespaceLabel]: 'default',
    });
    expect(update.host?.annotations.get(managedAnnotationsKey)).toBe('note');
    expect(update.virtual).toBeUndefined();
  });
});
