import { describe, expect, it } from 'vitest';
import { storedSubsets } from '../../../../src/sync/endpoints/subsets.ts';
import { problemOfKeyCount, problemOfResult } from '../../../../src/sync/patch/result/validate-result.ts';

const problem = (labels: [string, string][], annotations: [string, string][] = []) =>
  problemOfResult({ labels: new Map(labels), annotations: new Map(annotations), payload: {} })?.message;

describe('a result that is no valid object', () => {
  const secret = 'hunter2 hunter2!';

  it('is told with its place and without what stands there, however long that is', () => {
    expect(problem([['a', secret]])).toMatch(/^metadata\.labels\["a"\]: a valid label/);
    for (const long of [secret, secret.repeat(10_000)]) {
      for (const told of [problem([['a', long]]), problem([[long, 'a']]), problem([], [[long, 'a']])]) {
        expect(told).toBeDefined();
        expect(told).not.toContain('hunter2');
        expect(told?.length).toBeLessThan(500);
      }
    }
  });

  it('includes more annotations than Kubernetes takes', () => {
    expect(problem([], [['a', 'x'.repeat(262_143)]])).toBeUndefined();
    expect(problem([], [['a', 'x'.repeat(262_144)]])).toContain('at most 262144 bytes, got 262145');
  });

  it('shows a long key in part', () => {
    const told = problem([[`example.com/${'k'.repeat(60)}`, 'a b']]);
    expect(told).toMatch(/^metadata\.labels\["example\.com\/kkkkkkkk… \(72 characters\)"\]: /);
  });

  it('is refused by its size before any of its keys is looked at', () => {
    const labels = Array.from({ length: 130_000 }, (_, at): [string, string] => [`k${at}`, '']);
    expect(problem(labels)).toBe('metadata.labels must have at most 10000 keys, got 130000');
    expect(problem([], labels)).toBe('metadata.annotations must have at most 10000 keys, got 130000');
    expect(problem([['a', 'x'.repeat(262_144)]])).toBe('metadata.labels must have at most 262144 bytes, got 262145');
    const many = Object.fromEntries(labels);
    for (const result of [many, { labels: many }, { metadata: { annotations: many } }])
      expect(problemOfKeyCount([{}, result])).toBe('the result holds an object of 130000 keys, and may hold 10000');
    expect(problemOfKeyCount([null, 'x', [many], { metadata: { labels: { a: 'b' } } }])).toBeUndefined();
  });

  it.each([
    [[{ ports: [{ port: 80, appProtocol: 5 }] }], 'subsets[0].ports[0].appProtocol must be a string'],
    [
      [{ ports: [{ port: 80, appProtocol: 'a b' }] }],
      'subsets[0].ports[0].appProtocol must be a name, with a DNS subdomain and "/" before it if any, or left out',
    ],
    [
      [{ addresses: [{ ip: '10.0.0.1', hostname: '', nodeName: '' }] }],
      'subsets[0].addresses[0].nodeName must be a DNS subdomain, or left out',
    ],
    [
      [{ addresses: [{ ip: '10.0.0.1', nodeName: 'Node_1' }] }],
      'subsets[0].addresses[0].nodeName must be a DNS subdomain, or left out',
    ],
    [[{ addresses: [{ ip: '10.0.0.1' }, 5] }], 'subsets[0].addresses[1] must be an object, got a number'],
    [[{ ports: {} }], 'subsets[0].ports must be an array, got an object'],
    [[{ ports: [{ port: 80 }, { port: 81 }] }], 'subsets[0].ports[0].name is required beside other ports'],
    [
      [{ addresses: [{ ip: '10.0.0.1', targetRef: { name: 5 } }] }],
      'subsets[0].addresses[0].targetRef must be an object of strings',
    ],
  ])('is told with the place in its subsets: %j', (subsets, message) => {
    expect(problemOfResult({ labels: new Map(), annotations: new Map(), payload: { subsets } })?.message).toBe(message);
  });

  it('is none where the API server takes it: an empty hostname is none, a name may have a domain', () => {
    const addresses = [{ ip: '10.0.0.1', hostname: '', nodeName: 'node-1.example.com' }];
    const subsets = [{ addresses, ports: [{ port: 80, appProtocol: 'kubernetes.io/h2c' }] }];
    const result = { labels: new Map(), annotations: new Map(), payload: { subsets } };
    expect(problemOfResult(result)).toBeUndefined();
    expect(storedSubsets(subsets)[0]?.addresses).toEqual([{ ip: '10.0.0.1', nodeName: 'node-1.example.com' }]);
  });

  it('is one whose addresses the API server would not take, however close they come', () => {
    const judge = (ip: string) =>
      problemOfResult({ labels: new Map(), annotations: new Map(), payload: { subsets: [{ addresses: [{ ip }] }] } });
    for (const ip of ['0.0.0.0', '10.0.0.1', '255.255.255.255', '199.9.99.100', '::1', 'fd00::10.0.0.1'])
      expect([ip, judge(ip)]).toEqual([ip, undefined]);
    const wrong = [
      '256.0.0.1',
      '1.2.3',
      '1.2.3.',
      '1.2.3.4.',
      '.1.2.3',
      '1..2.3',
      '01.2.3.4',
      '1.2.3.4.5',
      '1.2.3.4\n',
      ' 1.2.3.4',
    ];
    for (const ip of [...wrong, '', '1.2.3.300', '1.2.3.4/8', '１.2.3.4', '+1.2.3.4', '0x1.2.3.4', '::g'])
      expect([ip, judge(ip)?.message]).toEqual([
        ip,
        expect.stringContaining('subsets[0].addresses[0].ip must be an IP'),
      ]);
  });
});
