import { describe, expect, it } from 'vitest';
import { SchemaSet } from '../../../src/apiserver/kinds/schema.ts';
import { decode } from '../../../src/apiserver/wire/decode.ts';
import { schemas } from '../../../src/devcluster/kinds/kinds.ts';

const set = new SchemaSet(schemas);
const read = (name: string, value: unknown) =>
  decode(value, set.node(`io.k8s.api.core.v1.${name}`), { kind: name, version: 'v1' });

describe('decode()', () => {
  it('drops unknown fields and reports each of them', () => {
    const { value, unknownFields } = read('Endpoints', {
      metadata: { name: 'a', nonsense: 1 },
      extra: {},
      subsets: [{ addresses: [{ ip: '10.0.0.1', more: 1 }] }],
    });
    expect(value).toEqual({ metadata: { name: 'a' }, subsets: [{ addresses: [{ ip: '10.0.0.1' }] }] });
    expect(unknownFields).toEqual(['metadata.nonsense', 'extra', 'subsets[0].addresses[0].more']);
  });

  it('leaves out empty fields, except pointer fields', () => {
    const { value } = read('Endpoints', {
      metadata: { name: 'a', labels: {}, finalizers: [] },
      subsets: [{ addresses: [{ ip: '10.0.0.1', hostname: '', nodeName: '' }], notReadyAddresses: [], ports: null }],
    });
    expect(value).toEqual({
      metadata: { name: 'a' },
      subsets: [{ addresses: [{ ip: '10.0.0.1', nodeName: '' }] }],
    });
  });

  it('adds the fields that are always written', () => {
    const { value } = read('Event', { metadata: { name: 'a' } });
    expect(value).toMatchObject({ involvedObject: {}, source: {}, firstTimestamp: null, reportingComponent: '' });
  });

  // The verdicts of a real kube-apiserver on `managedFields[].time`.
  it.each([
    ['2026-02-28T23:00:00Z', true],
    ['2026-02-28T23:00:00.123456789Z', true],
    ['2026-02-28T23:00:00-07:00', true],
    ['0000-01-01T00:00:00Z', true],
    ['9999-12-31T23:59:59-01:00', true],
    ['2024-02-29T00:00:00Z', true],
    ['2026-02-29T00:00:00Z', false],
    ['2026-02-30T00:00:00Z', false],
    ['2026-13-01T00:00:00Z', false],
    ['2026-02-28T24:00:00Z', false],
    ['2016-12-31T23:59:60Z', false],
    ['2026-02-28T23:00:00+25:00', false],
    ['2026-02-28 23:00:00Z', false],
    ['2026-02-28t23:00:00z', false],
    ['+275760-09-13T00:00:00Z', false],
    ['Jan 1 2020', false],
    ['2020', false],
    ['', false],
  ])('takes the time "%s": %s', (time, isGood) => {
    const object = { metadata: { name: 'a', managedFields: [{ manager: 'x', time }] } };
    if (isGood) expect(read('Endpoints', object).value).toEqual(object);
    else expect(() => read('Endpoints', object)).toThrow('time');
  });

  it('takes times with microseconds within the ranges of their parts', () => {
    const event = (eventTime: string) => read('Event', { metadata: { name: 'a' }, eventTime });
    expect(event('2026-02-28T23:00:00.000001Z').value).toMatchObject({ eventTime: '2026-02-28T23:00:00.000001Z' });
    expect(() => event('2026-13-01T00:00:00.000000Z')).toThrow('month out of range');
    expect(() => event('2026-02-30T00:00:00.000000Z')).toThrow('day out of range');
    expect(() => event('2026-02-28T00:00:60.000000Z')).toThrow('second out of range');
  });

  it.each([
    ['Endpoints', { subsets: 'x' }],
    ['Endpoints', { subsets: [{ ports: [{ port: '80' }] }] }],
    ['Endpoints', { metadata: { labels: { a: 1 } } }],
    ['Service', { spec: { ports: [{ targetPort: true }] } }],
    ['Service', { spec: { publishNotReadyAddresses: 'yes' } }],
    ['Secret', { data: { k: 'not base64!' } }],
    ['Pod', { spec: { containers: [{ resources: { limits: { cpu: 'much' } } }] } }],
  ])('refuses a %s with %j', (name, value) => {
    expect(() => read(name, value)).toThrow(/cannot be handled as a/);
  });

  // A pattern that tries each way to share the line ends between its parts would take minutes.
  it('refuses a wrong end behind a megabyte of line ends, and takes line ends anywhere', () => {
    expect(() => read('Secret', { data: { k: `${'\n'.repeat(1_000_000)}!aaa` } })).toThrow(/cannot be handled as a/);
    expect(() => read('Secret', { data: { k: 'YQ\n=\r\n=\n' } })).not.toThrow();
  });

  it('refuses values that are nested too deeply, and keeps __proto__ as data', () => {
    const deep = { metadata: { labels: {} }, data: JSON.parse('{"__proto__":"x"}') };
    const { value } = read('ConfigMap', deep) as { value: { data: object } };
    expect(Object.keys(value.data)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(value.data)).toBe(Object.prototype);
  });
});
