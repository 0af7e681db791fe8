import { describe, expect, it } from 'vitest';
import type { EndpointSubset } from '../../../../src/sync/kinds/endpoints/items.ts';
import {
  addressesOf,
  isSameEndpoints,
  normalizeSubsets,
  storedSubsets,
  translateSubsets,
} from '../../../../src/sync/kinds/endpoints/subsets.ts';

const one = { ip: '10.0.0.1' };
const tcp = { name: 'http', port: 80, protocol: 'TCP' };
const stored: EndpointSubset[] = [
  { addresses: [one], ports: [tcp] },
  { notReadyAddresses: [one], ports: [tcp] },
];

describe('normalizeSubsets()', () => {
  it.each([
    [
      'a port without a protocol',
      [{ addresses: [one], ports: [{ port: 80 }] }],
      [{ addresses: [one], ports: [{ port: 80, protocol: 'TCP' }] }],
    ],
    ['an empty list', [{ addresses: [one], notReadyAddresses: [], ports: [] }], [{ addresses: [one] }]],
    ['null for a list', [{ addresses: [one], ports: null }], [{ addresses: [one] }]],
    ['a subset without an address', [{ ports: [tcp] }, { addresses: [one] }], [{ addresses: [one] }]],
    ['an unknown field', [{ addresses: [one], more: ['x'] }], [{ addresses: [one] }]],
    ['no list', undefined, []],
  ])('%s', (_, given, wanted) => {
    expect(normalizeSubsets(given as EndpointSubset[] | undefined)).toEqual(wanted);
  });

  it('returns normal subsets as they are', () => {
    expect(normalizeSubsets(stored)).toBe(stored);
  });
});

describe('isSameEndpoints()', () => {
  const other = { ip: '10.0.0.2' };
  it.each([
    ['another grouping', [{ addresses: [one, other], ports: [tcp] }], true],
    ['an address that is no longer ready', [{ addresses: [one], notReadyAddresses: [other], ports: [tcp] }], false],
    ['an address less', [{ addresses: [one], ports: [tcp] }], false],
    ['another port', [{ addresses: [one, other], ports: [{ ...tcp, port: 81 }] }], false],
  ])('of %s: %j is %s', (_, subsets, isSame) => {
    const known: EndpointSubset[] = [
      { addresses: [other], ports: [tcp] },
      { addresses: [one], ports: [tcp] },
    ];
    expect(isSameEndpoints(known, subsets)).toBe(isSame);
  });
});

describe('addressesOf()', () => {
  it('has those that are not ready too: the address policy judges all that leaves', () => {
    expect(addressesOf([{ addresses: [one], notReadyAddresses: [{ ip: '10.0.0.2' }] }])).toEqual([
      ...['10.0.0.1', '10.0.0.2'],
    ]);
  });
});

describe('translateSubsets() and storedSubsets()', () => {
  it('return subsets that need no change as they are', () => {
    expect(translateSubsets(stored, () => undefined)).toBe(stored);
    expect(storedSubsets(stored)).toBe(stored);
  });

  it('never change their input', () => {
    const targetRef = { kind: 'Pod', name: 'web-0', namespace: 'default', uid: 'u' };
    const given = [{ addresses: [one, { ip: '10.0.0.2', targetRef }], ports: [tcp] }];
    const before = structuredClone(given);
    const translated = translateSubsets(given, ({ name }) => ({ namespace: 'host', name: `${name}-x` }));
    expect(translated).toEqual([
      {
        addresses: [one, { ip: '10.0.0.2', targetRef: { kind: 'Pod', name: 'web-0-x', namespace: 'host' } }],
        ports: [tcp],
      },
    ]);
    expect(given).toEqual(before);
  });

  it('leave out an empty name and an empty field of a reference', () => {
    const given = [
      { addresses: [{ ...one, hostname: '', targetRef: { kind: 'Pod', name: '' } }], ports: [{ ...tcp, name: '' }] },
    ];
    const wanted = [{ addresses: [{ ...one, targetRef: { kind: 'Pod' } }], ports: [{ port: 80, protocol: 'TCP' }] }];
    expect(storedSubsets(given)).toEqual(wanted);
  });
});
