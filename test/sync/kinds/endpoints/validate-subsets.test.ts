import { describe, expect, it } from 'vitest';
import { storedSubsets } from '../../../../src/sync/kinds/endpoints/subsets.ts';
import { problemOfSubsets } from '../../../../src/sync/kinds/endpoints/validate-subsets.ts';

describe('subsets that a patch made', () => {
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
    [
      [{ addresses: [{ ip: '::ffff:10.1.1.1' }] }],
      'subsets[0].addresses[0].ip must not be an IPv4-mapped IPv6 address; write it as an IPv4 address',
    ],
    [[{ addresses: [{ ip: '10.0.0.1' }, 5] }], 'subsets[0].addresses[1] must be an object, found a number'],
    [[{ ports: {} }], 'subsets[0].ports must be an array, found an object'],
    [[{ ports: [{ port: 80 }, { port: 81 }] }], 'subsets[0].ports[0].name is required beside other ports'],
    [
      [{ addresses: [{ ip: '10.0.0.1', targetRef: { name: 5 } }] }],
      'subsets[0].addresses[0].targetRef must be an object of strings',
    ],
  ])('are reported with the path of the problem: %j', (subsets, message) => {
    expect(problemOfSubsets(subsets)?.message).toBe(message);
  });

  it('may have an empty hostname and a protocol name with a domain, as the API server accepts both', () => {
    const addresses = [{ ip: '10.0.0.1', hostname: '', nodeName: 'node-1.example.com' }];
    const subsets = [{ addresses, ports: [{ port: 80, appProtocol: 'kubernetes.io/h2c' }] }];
    expect(problemOfSubsets(subsets)).toBeUndefined();
    expect(storedSubsets(subsets)[0]?.addresses).toEqual([{ ip: '10.0.0.1', nodeName: 'node-1.example.com' }]);
  });

  it('must have addresses that the API server accepts, not texts that come close', () => {
    const judge = (ip: string) => problemOfSubsets([{ addresses: [{ ip }] }]);
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
