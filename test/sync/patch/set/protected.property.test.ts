import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { createRules } from '../../../../src/sync/loop/pass/rules.ts';
import type { OpenedPatcher } from '../../../../src/sync/patch/run/open-patcher.ts';
import { parseBase } from '../../../../src/sync/plan/keys/base.ts';
import {
  baseKey,
  controlledByKey,
  managedAnnotationsKey,
  markerLabel,
  namespaceLabel,
  skipBackSyncKey,
  theSix,
} from '../../../../src/sync/plan/keys/reserved-keys.ts';
import { rehearse } from '../../../../src/sync/report/rehearse.ts';
import { sampled } from '../../../sampled.ts';
import { defaultSettings } from '../../fake-sync.ts';
import { entry, openTestPatcher } from '../fake-patch.ts';

const paths = [
  '',
  '[*]',
  'metadata',
  'metadata[*]',
  'metadata.labels',
  'metadata.annotations',
  'metadata.labels[*]',
  'metadata.annotations[*]',
  'metadata[*][*]',
  'subsets',
];
/** What the expression gives is what the tenant asks for: one sandbox for all results. */
const expression = 'JSON.parse(context.virtualObject.metadata.annotations.result)';

const opened = new Map<string, Promise<OpenedPatcher>>();
function patcherFor(path: string): Promise<OpenedPatcher> {
  const known = opened.get(path) ?? open(path);
  opened.set(path, known);
  return known;
}
async function open(path: string): Promise<OpenedPatcher> {
  const patcher = openTestPatcher([entry({ path, expression })]);
  await patcher.start();
  return patcher;
}
afterAll(async () => {
  for (const one of opened.values()) await (await one).stop();
});

const protectedKeys = [
  ...theSix,
  managedAnnotationsKey,
  markerLabel,
  namespaceLabel,
  baseKey,
  'hostward.dev/pause',
  'vcluster.loft.sh/managed-other',
  controlledByKey,
  skipBackSyncKey,
];
const texts = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('v', 'x1', null) },
  { weight: 1, arbitrary: fc.string({ maxLength: 5 }) },
);
const map = fc.dictionary(
  fc.constantFrom(...protectedKeys, 'own', 'result', '__proto__', 'constructor'),
  fc.oneof({ weight: 20, arbitrary: texts }, { weight: 1, arbitrary: fc.jsonValue() }),
);
const metadata = fc.record(
  {
    name: texts,
    namespace: texts,
    uid: texts,
    resourceVersion: texts,
    ownerReferences: fc.jsonValue(),
    finalizers: fc.jsonValue(),
    labels: fc.oneof({ weight: 5, arbitrary: map }, { weight: 1, arbitrary: fc.jsonValue() }),
    annotations: fc.oneof({ weight: 5, arbitrary: map }, { weight: 1, arbitrary: fc.jsonValue() }),
  },
  { requiredKeys: [] },
);
const results = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record(
      {
        apiVersion: texts,
        kind: texts,
        metadata: fc.oneof({ weight: 5, arbitrary: metadata }, { weight: 1, arbitrary: fc.jsonValue() }),
        subsets: fc.oneof(fc.constant([]), fc.jsonValue()),
      },
      { requiredKeys: [] },
    ),
  },
  { weight: 3, arbitrary: metadata },
  { weight: 3, arbitrary: map },
  { weight: 2, arbitrary: fc.jsonValue() },
);

async function rehearsed(path: string, result: unknown, host: readonly KubeObject[]) {
  const { patcher } = await patcherFor(path);
  const annotations = { result: JSON.stringify(result), own: 'o' };
  const virtual: KubeObject = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', namespace: 'default', uid: 'u-1', labels: { own: 'o' }, annotations },
    subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }],
  };
  const rules = createRules(endpointsKind, defaultSettings, { patcher });
  const [one] = await rehearse({
    virtual: [virtual],
    services: [],
    host,
    rules,
    ownerUid: 'owner-1',
    assumesAgreement: false,
  });
  return one;
}

function expectProtected(host: KubeObject): void {
  const { name, namespace, labels = {}, annotations = {}, ownerReferences } = host.metadata;
  expect([host.apiVersion, host.kind, name, namespace]).toEqual([
    'v1',
    'Endpoints',
    'web-x-default-x-vc',
    'vcluster-vc',
  ]);
  expect([labels[markerLabel], labels[namespaceLabel]]).toEqual(['vc', 'default']);
  expect(theSix.map((key) => annotations[key])).toEqual([
    'web',
    'default',
    'u-1',
    '/v1, Kind=Endpoints',
    'web-x-default-x-vc',
    'vcluster-vc',
  ]);
  expect(ownerReferences).toEqual([
    { apiVersion: 'v1', kind: 'Service', name: 'vc', uid: 'owner-1', controller: false },
  ]);
  expect(parseBase(annotations[baseKey])?.patchDigest).not.toBe('');
  const ours = ['hostward.dev/', 'vcluster.loft.sh/'];
  const strange = [...Object.keys(labels), ...Object.keys(annotations)].filter((key) =>
    ours.some((prefix) => key.startsWith(prefix)),
  );
  expect(
    strange.filter((key) => ![baseKey, managedAnnotationsKey, markerLabel, namespaceLabel, ...theSix].includes(key)),
  ).toEqual([]);
}

describe('whatever an expression gives', () => {
  it('no protected field of the host object is another one, on create and on update', async () => {
    let written = 0;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), results, results, async (path, first, second) => {
        const created = await rehearsed(path, first, []);
        if (created?.host !== undefined) {
          written++;
          expectProtected(created.host);
          expect(Object.hasOwn(Object.prototype, 'own')).toBe(false);
        } else expect(created?.outcome).toMatchObject({ kind: 'refused', reason: 'PatchFailed' });
        if (created?.host === undefined) return;
        const updated = await rehearsed(path, second, [created.host]);
        expectProtected(updated?.host as KubeObject);
      }),
      { numRuns: sampled(600) },
    );
    // The property would be empty if everything were refused.
    expect(written).toBeGreaterThan(sampled(15));
  }, 60_000);
});
