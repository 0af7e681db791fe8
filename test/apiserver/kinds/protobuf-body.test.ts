import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProtobufReader } from '../../../src/apiserver/kinds/protobuf-body.ts';
import { StatusFault } from '../../../src/apiserver/request/status-fault.ts';

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const reader = new ProtobufReader({
  'k8s.io.api.core.v1.Thing': [
    [1, 'metadata', meta],
    [2, 'count', 'int64'],
    [3, 'parts', '[]k8s.io.api.core.v1.Thing'],
    [4, 'labels', '{}string'],
    [5, 'port', 'intOrString'],
    [6, 'size', 'quantity'],
  ],
  [meta]: [
    [8, 'creationTimestamp', 'time'],
    [9, 'at', 'microTime'],
    [17, 'fields', 'json'],
  ],
});

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, value);
  for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128);
  return Buffer.from([...bytes, Number(left)]);
}
const number = (at: number, value: bigint) => Buffer.concat([varint(BigInt(at << 3)), varint(value)]);
const bytes = (at: number, value: Buffer) =>
  Buffer.concat([varint(BigInt((at << 3) | 2)), varint(BigInt(value.length)), value]);
const body = (raw: Buffer) => {
  const type = Buffer.concat([bytes(1, Buffer.from('v1')), bytes(2, Buffer.from('Thing'))]);
  return Buffer.concat([Buffer.from('k8s\0'), bytes(1, type), bytes(2, raw)]);
};
const read = (raw: Buffer) => reader.read(body(raw));
const seconds = (value: bigint) => bytes(1, bytes(8, number(1, value)));
const json = (text: string) => bytes(1, bytes(17, bytes(1, Buffer.from(text))));

describe('a protobuf body', () => {
  it('is the object that JSON would have been', () => {
    expect(read(Buffer.concat([seconds(1_700_000_000n), number(2, -3n)]))).toEqual({
      apiVersion: 'v1',
      kind: 'Thing',
      metadata: { creationTimestamp: '2023-11-14T22:13:20Z' },
      count: -3,
    });
    expect(read(json('{"f:a":{}}'))).toMatchObject({ metadata: { fields: { 'f:a': {} } } });
  });

  it.each([
    ['a time after the last date', seconds(9n * 10n ** 15n), /no date/],
    ['a time in the year 10000', seconds(253_402_300_800n), /no date/],
    ['a time before the first date', seconds(-(9n * 10n ** 15n)), /no date/],
    ['text that is not JSON', json('{"a":'), /should be JSON/],
    ['JSON without an end of levels', json(`${'['.repeat(5000)}${']'.repeat(5000)}`), /levels/],
  ])('with %s is a mistake of its sender', (_, raw, says) => {
    expect(() => read(raw)).toThrow(says);
    expect(() => read(raw)).toThrow(StatusFault);
  });

  it('is read or refused with a status, whatever its bytes are', () => {
    const whole = Buffer.concat([
      seconds(1_700_000_000n),
      json('{"a":[1,2]}'),
      bytes(3, bytes(4, Buffer.concat([bytes(1, Buffer.from('k')), bytes(2, Buffer.from('v'))]))),
      bytes(5, number(1, 1n)),
      bytes(6, bytes(1, Buffer.from('5Gi'))),
    ]);
    const damage = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 6 });
    fc.assert(
      fc.property(damage, fc.nat(whole.length), (changes, end) => {
        const damaged = Buffer.from(whole);
        for (const [at, value] of changes) damaged[at] = value;
        try {
          read(damaged.subarray(0, end));
        } catch (error) {
          expect(error).toBeInstanceOf(StatusFault);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
