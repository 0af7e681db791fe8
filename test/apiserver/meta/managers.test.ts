import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Catalog } from '../../../src/apiserver/kinds/catalog.ts';
import type { Call } from '../../../src/apiserver/kinds/kit.ts';
import { managerOptions, trackCreate, trackUpdate } from '../../../src/apiserver/meta/managers.ts';
import { parseTarget } from '../../../src/apiserver/request/target.ts';
import { endpointsKind } from '../../../src/devcluster/kinds/endpoints-kind.ts';
import { schemas } from '../../../src/devcluster/kinds/kinds.ts';
import { updateManagedFields } from '../../../src/object/fields/managed-fields.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';

const catalog = new Catalog([endpointsKind], schemas);

function callOf(fieldManager: string): Call {
  const target = parseTarget('PATCH', '/api/v1/namespaces/a/endpoints/b');
  return { kit: { catalog }, kind: endpointsKind, target, fieldManager, warnings: [] } as unknown as Call;
}

const manager = fc.constantFrom('one', 'two');
const labels = fc.constantFrom<object | undefined>(undefined, { app: 'x' }, { app: 'y' }, { app: 'x', more: 'z' });
const subsets = fc.constantFrom<object[] | undefined>(
  undefined,
  [{ addresses: [{ ip: '10.0.0.1' }] }],
  [{ addresses: [{ ip: '10.0.0.2' }] }],
);
const write = fc.record({ manager, labels, subsets });

function objectOf(parts: { labels: object | undefined; subsets: object[] | undefined }): KubeObject {
  const metadata = { name: 'b', namespace: 'a', ...(parts.labels === undefined ? {} : { labels: parts.labels }) };
  return {
    kind: 'Endpoints',
    apiVersion: 'v1',
    metadata,
    ...(parts.subsets && { subsets: parts.subsets }),
  } as KubeObject;
}

describe('trackUpdate()', () => {
  it('uses its short cut only where the full computation gives the same managedFields', () => {
    fc.assert(
      fc.property(fc.array(write, { minLength: 2, maxLength: 8 }), (writes) => {
        let stored: KubeObject | undefined;
        writes.forEach((written, index) => {
          const now = `2026-01-01T00:00:0${index}Z`;
          const call = callOf(written.manager);
          const object = objectOf(written);
          if (stored === undefined) {
            trackCreate(call, object, now);
          } else {
            const wanted = updateManagedFields(stored, structuredClone(object), managerOptions(call, now));
            trackUpdate(call, object, stored, now);
            // The update pipeline stops before trackUpdate() when a write changes nothing.
            const { managedFields: _had, ...metadata } = stored.metadata;
            const isSame = JSON.stringify({ ...stored, metadata }) === JSON.stringify(objectOf(written));
            if (!isSame) expect(object.metadata.managedFields ?? []).toEqual(wanted ?? []);
          }
          stored = object;
        });
      }),
    );
  });
});
