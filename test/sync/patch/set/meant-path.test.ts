import { describe, expect, it } from 'vitest';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { createEndpointSliceKind } from '../../../../src/sync/kinds/endpointslices/endpointslice-kind.ts';
import { compilePatchSet } from '../../../../src/sync/patch/set/patch-set.ts';
import type { SyncedKind } from '../../../../src/sync/plan/kind.ts';
import { entry } from '../fake-patch.ts';

const slices = createEndpointSliceKind({ mirrored: 'never', dropsNodeName: false });

function faultOf(path: string, kind: SyncedKind): string | undefined {
  const compiled = compilePatchSet([{ index: 0, entry: entry({ path, expression: 'value' }) }], kind);
  if (compiled.kind === 'ok') return undefined;
  const [fault] = compiled.faults;
  return fault && `${fault.message}; ${fault.fix}`;
}

describe('a path of the other kind is a fault with the path that was meant', () => {
  it.each([
    ['subsets[*].addresses[*].ip', 'endpoints[*].addresses[*]'],
    ['subsets[0].notReadyAddresses[2].ip', 'endpoints[2].addresses[*]'],
    ['subsets[*].addresses[*].targetRef.name', 'endpoints[*].targetRef.name'],
    ['subsets[*].addresses', 'endpoints[*]'],
    ['subsets[*].ports[*].port', 'ports[*].port'],
    ['subsets[*].ports', 'ports[*]'],
    ['subsets', 'endpoints[*]'],
  ])('%s for an EndpointSlice is %s', (path, meant) => {
    expect(faultOf(path, slices)).toBe(`no EndpointSlice has a field "subsets"; write ${meant}`);
    expect(faultOf(meant, slices)).toBeUndefined();
  });

  it.each([
    ['endpoints[*].addresses[*]', 'subsets[*].addresses[*].ip'],
    ['endpoints[1].addresses[0]', 'subsets[*].addresses[0].ip'],
    ['endpoints[*].nodeName', 'subsets[*].addresses[*].nodeName'],
    ['endpoints[*].targetRef.name', 'subsets[*].addresses[*].targetRef.name'],
    ['endpoints', 'subsets[*].addresses[*]'],
    ['ports[*].port', 'subsets[*].ports[*].port'],
  ])('%s for an Endpoints is %s', (path, meant) => {
    expect(faultOf(path, endpointsKind)).toBe(`no Endpoints has a field "${path.split(/[.[]/)[0]}"; write ${meant}`);
    expect(faultOf(meant, endpointsKind)).toBeUndefined();
  });

  it('a field that the other kind lacks is a plain fault', () => {
    expect(faultOf('endpoints[*].zone', endpointsKind)).toContain('there is no field "endpoints"');
  });
});

describe('protected fields of an EndpointSlice are a fault', () => {
  it.each([
    ['addressType', '"addressType" is protected and cannot be patched'],
    ['metadata.labels["kubernetes.io/service-name"]', '"kubernetes.io/service-name" is reserved for the sync'],
    ['metadata.labels["endpointslice.kubernetes.io/managed-by"]', 'is reserved for the sync'],
  ])('%s', (path, message) => {
    expect(faultOf(path, slices)).toContain(message);
    expect(faultOf(path, endpointsKind)).toEqual(
      path === 'addressType' ? expect.stringContaining('there is no field') : undefined,
    );
  });
});
